// The classic: 9,500 + 9,700 + 9,900, on one day or every other day. The limit is 10,000 in euros and dollars, 5,000,000
// in naira. Businesses that declared this much cash are left alone; a customer without a declaration is not, which is why
// the guard is written with `not`: a missing value makes every comparison false.
rule cash_deposit_structuring {
    description "Three cash deposits below the reporting limit within ten days, 1.8 times the limit together: kept below it on purpose."
    when metadata.type == "cash_deposit"
        and ((currency in ("EUR", "USD") and amount >= 5000 and amount < 10000)
             or (currency == "NGN" and amount >= 2500000 and amount < 5000000))
        and not (metadata.declared_monthly_cash >= 2.5 * amount)
        and count(when destination == $current.destination
                       and metadata.type == "cash_deposit"
                       and currency == $current.currency
                       and not (stage in ("failed", "expired", "void", "returned"))
                       and ((currency in ("EUR", "USD") and amount >= 5000 and amount < 10000)
                            or (currency == "NGN" and amount >= 2500000 and amount < 5000000)), "P10D") >= 2
        and ((currency != "NGN"
              and amount + sum(when destination == $current.destination
                                    and metadata.type == "cash_deposit"
                                    and currency == $current.currency
                                    and not (stage in ("failed", "expired", "void", "returned"))
                                    and ((currency in ("EUR", "USD") and amount >= 5000 and amount < 10000)
                                         or (currency == "NGN" and amount >= 2500000 and amount < 5000000)), "P10D")
                > 18000)
             or (currency == "NGN"
                 and amount + sum(when destination == $current.destination
                                       and metadata.type == "cash_deposit"
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned"))
                                       and ((currency in ("EUR", "USD") and amount >= 5000 and amount < 10000)
                                            or (currency == "NGN" and amount >= 2500000 and amount < 5000000)), "P10D")
                   > 9000000))
    then review
        score 0.8
        reason "Three cash deposits below the reporting limit within ten days. Ask for the origin of the cash; file a report if there is none."
}
