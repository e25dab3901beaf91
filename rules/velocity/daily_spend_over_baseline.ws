// The baseline is the 29 days before the last one, so that today's spending cannot raise its own limit. Ten payments
// in those days are the least that may be called a habit. Amounts in other currencies are left out, not converted.
// Honest lives exceed it every month, on the day of the rent or of a large purchase: it is a hint, and holds nothing.
rule daily_spend_over_baseline {
    description "More than four times the account's usual daily spending within a day: stolen credentials, or rent and a holiday."
    when source not_in $payroll_sources
        and source not_in $merchant_settlement_accounts
        and not (metadata.type in ("salary", "standing_order"))
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
             or (currency == "JPY" and amount > 5000)
             or (currency == "KWD" and amount > 15)
             or (currency == "NGN" and amount > 20000))
        and count(when source == $current.source and currency == $current.currency
                  and not (stage in ("failed", "expired", "void", "returned")), "P30D")
          - count(when source == $current.source and currency == $current.currency
                  and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 10
        and ((currency not_in ("JPY", "KWD", "NGN")
              and amount + sum(when source == $current.source
                                    and currency == $current.currency
                                    and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 500)
             or (currency == "JPY"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 50000)
             or (currency == "KWD"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 150)
             or (currency == "NGN"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 200000))
        and amount + sum(when source == $current.source and currency == $current.currency
                         and not (stage in ("failed", "expired", "void", "returned")), "P1D")
          > 4 * (sum(when source == $current.source and currency == $current.currency
                     and not (stage in ("failed", "expired", "void", "returned")), "P30D")
               - sum(when source == $current.source and currency == $current.currency
                     and not (stage in ("failed", "expired", "void", "returned")), "P1D")) / 29
    then alert
        score 0.7
        reason "Spending of the last day exceeds four times the usual. Compare payees with earlier ones and call the customer."
}
