rule tier_one_daily_limit {
    description "A tier 1 customer may pay at most 1,000 within 24 hours, the current payment included."
    when metadata.kyc_tier == 1
        and amount + sum(when source == $current.source
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void",
                                              "voided")), "PT24H") > 1000
    then block
        score 0.8
        reason "Above the daily limit of tier 1. Invite the customer to verify their identity."
}
