// 200,000 euros or dollars; 20,000,000 yen and 80,000,000 naira. A rent in naira has six digits too.
rule pair_daily_volume {
    description "More than 200,000 from one payer to one payee within a day, in however many parts: worth a record even when lawful."
    when source not_in $payroll_sources
        and destination not_in $merchant_settlement_accounts
        and ((currency not_in ("JPY", "NGN")
              and amount + sum(when source == $current.source
                                    and destination == $current.destination
                                    and currency == $current.currency
                                    and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 200000)
             or (currency == "JPY"
                 and amount + sum(when source == $current.source
                                       and destination == $current.destination
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 20000000)
             or (currency == "NGN"
                 and amount + sum(when source == $current.source
                                       and destination == $current.destination
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 80000000))
    then alert
        score 0.5
        reason "More than 200,000 between this pair within a day. Check the contract or invoice behind it."
}
