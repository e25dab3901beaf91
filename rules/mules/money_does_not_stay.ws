// Income and spending are compared within one currency; the floor is 10,000 euros or what stands for it.
rule money_does_not_stay {
    description "Of more than 10,000 received within a week next to nothing stays: income and spending of a real life do not cancel out."
    when source not_in $merchant_settlement_accounts
        and source not_in $payroll_sources
        and ((currency not_in ("JPY", "KWD", "NGN")
              and sum(when destination == $current.source
                           and currency == $current.currency
                           and not (stage in ("failed", "expired", "void", "returned")), "P7D") > 10000)
             or (currency == "JPY"
                 and sum(when destination == $current.source
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P7D") > 1000000)
             or (currency == "KWD"
                 and sum(when destination == $current.source
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P7D") > 3000)
             or (currency == "NGN"
                 and sum(when destination == $current.source
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P7D") > 4000000))
        and (sum(when destination == $current.source
                      and currency == $current.currency
                      and not (stage in ("failed", "expired", "void", "returned")), "P7D")
             - sum(when source == $current.source
                        and currency == $current.currency
                        and not (stage in ("failed", "expired", "void", "returned")), "P7D")
             - amount)
            / sum(when destination == $current.source
                       and currency == $current.currency
                       and not (stage in ("failed", "expired", "void", "returned")), "P7D") between -0.05 and 0.02
    then alert
        score 0.6
        reason "A week's income has left to within two percent. Compare the payers with the payees."
}
