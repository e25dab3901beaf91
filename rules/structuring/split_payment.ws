// The limit is 10,000 in euros and dollars, 1,000,000 in yen, 3,000 in dinars, 5,000,000 in naira. Purchases by card are
// no parts of anything; salaries and standing orders were agreed before and hide nothing.
rule split_payment {
    description "One payee receives the reporting limit or more from one payer within a day in parts below it: a large payment in disguise."
    when not (metadata.type in ("card", "sale", "standing_order", "salary", "payout", "refund", "chargeback"))
        and destination not_in $merchant_settlement_accounts
        and ((currency not_in ("JPY", "KWD", "NGN") and amount < 10000)
             or (currency == "JPY" and amount < 1000000)
             or (currency == "KWD" and amount < 3000)
             or (currency == "NGN" and amount < 5000000))
        and count(when source == $current.source
                       and destination == $current.destination
                       and currency == $current.currency
                       and not (stage in ("failed", "expired", "void", "returned")), "P1D")
          >= 1
        and ((currency not_in ("JPY", "KWD", "NGN")
              and amount + sum(when source == $current.source
                                    and destination == $current.destination
                                    and currency == $current.currency
                                    and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 10000)
             or (currency == "JPY"
                 and amount + sum(when source == $current.source
                                       and destination == $current.destination
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 1000000)
             or (currency == "KWD"
                 and amount + sum(when source == $current.source
                                       and destination == $current.destination
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 3000)
             or (currency == "NGN"
                 and amount + sum(when source == $current.source
                                       and destination == $current.destination
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 5000000))
        and ((currency not_in ("JPY", "KWD", "NGN")
              and max(when source == $current.source
                           and destination == $current.destination
                           and currency == $current.currency
                           and not (stage in ("failed", "expired", "void", "returned")), "P1D") < 10000)
             or (currency == "JPY"
                 and max(when source == $current.source
                              and destination == $current.destination
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P1D") < 1000000)
             or (currency == "KWD"
                 and max(when source == $current.source
                              and destination == $current.destination
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P1D") < 3000)
             or (currency == "NGN"
                 and max(when source == $current.source
                              and destination == $current.destination
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P1D") < 5000000))
    then review
        score 0.6
        reason "A payment above the reporting limit in smaller parts. Ask why it was not sent at once."
}
