// The limit is 10,000 in euros and dollars, 1,000,000 in yen, 3,000 in dinars, 5,000,000 in naira; three branches are a
// round from a tenth of it on.
rule deposits_at_many_branches {
    description "Cash paid into one account in parts that exceed the reporting limit within a day, or at three branches: a courier making the round so that no teller sees the sum."
    when metadata.type == "cash_deposit"
        and not (metadata.declared_monthly_cash >= 2.5 * amount)
        and count(when destination == $current.destination
                       and metadata.type == "cash_deposit"
                       and currency == $current.currency
                       and not (stage in ("failed", "expired", "void", "returned")), "P1D")
          >= 1
        and (((currency not_in ("JPY", "KWD", "NGN")
               and amount + sum(when destination == $current.destination
                                     and metadata.type == "cash_deposit"
                                     and currency == $current.currency
                                     and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 10000)
              or (currency == "JPY"
                  and amount + sum(when destination == $current.destination
                                        and metadata.type == "cash_deposit"
                                        and currency == $current.currency
                                        and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 1000000)
              or (currency == "KWD"
                  and amount + sum(when destination == $current.destination
                                        and metadata.type == "cash_deposit"
                                        and currency == $current.currency
                                        and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 3000)
              or (currency == "NGN"
                  and amount + sum(when destination == $current.destination
                                        and metadata.type == "cash_deposit"
                                        and currency == $current.currency
                                        and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 5000000))
             or distinct(metadata.branch_id where destination == $current.destination
                                                  and metadata.branch_id != $current.metadata.branch_id
                                                  and metadata.type == "cash_deposit"
                                                  and currency == $current.currency
                                                  and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 2)
        and ((currency not_in ("JPY", "KWD", "NGN")
              and amount + sum(when destination == $current.destination
                                    and metadata.type == "cash_deposit"
                                    and currency == $current.currency
                                    and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 1000)
             or (currency == "JPY"
                 and amount + sum(when destination == $current.destination
                                       and metadata.type == "cash_deposit"
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 100000)
             or (currency == "KWD"
                 and amount + sum(when destination == $current.destination
                                       and metadata.type == "cash_deposit"
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 300)
             or (currency == "NGN"
                 and amount + sum(when destination == $current.destination
                                       and metadata.type == "cash_deposit"
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 500000))
    then review
        score 0.75
        reason "Cash in several parts within a day. Ask the branches who came to the counter and why not at once."
}
