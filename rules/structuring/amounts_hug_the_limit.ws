// `max` tells the cautious from the busy: who has ever moved more in one piece does not shun the limit.
// The limit is 10,000 in euros and dollars, 5,000,000 in naira. A rent by standing order is what was agreed.
rule amounts_hug_the_limit {
    description "Repeated amounts in the last tenth below the reporting limit while nothing ever exceeds it: the limit is known and shunned."
    when ((currency in ("EUR", "USD") and amount >= 9000 and amount < 10000)
          or (currency == "NGN" and amount >= 4500000 and amount < 5000000))
        and source not_in $payroll_sources
        and not (metadata.type in ("standing_order", "direct_debit"))
        and count(when source == $current.source
                       and currency == $current.currency
                       and ((currency in ("EUR", "USD") and amount >= 9000 and amount < 10000)
                            or (currency == "NGN" and amount >= 4500000 and amount < 5000000))
                       and not (metadata.type in ("standing_order", "direct_debit"))
                       and not (stage in ("failed", "expired", "void", "returned")), "P90D")
          >= 3
        and ((currency != "NGN"
              and max(when source == $current.source
                           and currency == $current.currency
                           and not (stage in ("failed", "expired", "void", "returned")), "P90D")
                < 10000)
             or (currency == "NGN"
                 and max(when source == $current.source
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P90D") < 5000000))
    then review
        score 0.65
        reason "Fourth amount just below the reporting limit in 90 days and none above. Review the transfers of the account as a whole."
}
