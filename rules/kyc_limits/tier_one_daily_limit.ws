// Naira: the daily ceiling of the lowest tier. Euro: the month of an account without identification.
rule tier_one_daily_limit {
    description "A tier 1 customer pays within 24 hours more than that level allows, the current payment included."
    when metadata.kyc_tier == 1
        and source not_in $merchant_settlement_accounts
        and not (metadata.type == "cash_deposit")
        and ((currency == "NGN"
              and amount + sum(when source == $current.source
                                    and currency == $current.currency
                                    and not (stage in ("failed", "expired", "void", "returned")), "PT24H") > 50000)
             or (currency == "EUR"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "PT24H") > 150)
             or (currency == "GBP"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "PT24H") > 130)
             or (currency == "USD"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "PT24H") > 165))
    then review
        score 0.8
        reason "Above the daily limit of tier 1. Invite the customer to verify their identity."
}
