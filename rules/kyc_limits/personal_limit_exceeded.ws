// The limit is data, not code: it comes with the transaction. Standing orders were agreed before, and are not payments of
// the day; sums in another currency are not converted.
rule personal_limit_exceeded {
    description "The payment takes the customer above the daily limit they, or their bank, have set."
    when metadata.daily_limit >= 0
        and not (metadata.type in ("standing_order", "direct_debit"))
        and amount + sum(when source == $current.source
                              and currency == $current.currency
                              and not (metadata.type in ("standing_order", "direct_debit"))
                              and not (stage in ("failed", "expired", "void", "returned")), "P1D") > metadata.daily_limit
    then review
        score 0.6
        reason "Above the customer's own daily limit. Ask them; they can raise it in the app and have it released."
}
