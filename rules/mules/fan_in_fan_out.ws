rule fan_in_fan_out {
    description "An account younger than 30 days takes in from four or more payers and pays out to three or more payees within a day: a mule at work."
    when metadata.account_age_days < 30
        and source not_in $merchant_settlement_accounts
        and distinct(source when destination == $current.source
                             and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                 "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                 "voided")), "PT24H") >= 4
        and distinct(destination when source == $current.source
                                  and destination != $current.destination
                                  and not (status in ("canceled", "cancelled", "charged_back", "declined",
                                                      "expired", "failed", "lapsed", "refunded", "rejected",
                                                      "reversed", "void", "voided")), "PT24H") >= 2
    then block
        score 0.9
        reason "A young account spreads what it collects. Freeze it, and warn the banks of the payers."
}
