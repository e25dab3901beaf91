// Three other new payees in the window and the current one make four. Payees paid for years do not count, and neither
// do payees of a customer who moves the standing orders of small bills to a new account: those are small. Presents of a
// few euros empty no account.
rule destination_fan_out {
    description "Four or more payees entered within the hour are paid within half an hour: how an account is emptied before its owner notices."
    when source not_in $payroll_sources
        and source not_in $merchant_settlement_accounts
        and metadata.payee_added_minutes_ago between 0 and 59
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 20)
             or (currency == "JPY" and amount > 2000)
             or (currency == "KWD" and amount > 6)
             or (currency == "NGN" and amount > 8000))
        and not (metadata.account_age_days < 14
                 and not ((currency not_in ("JPY", "KWD", "NGN") and amount > 200)
                          or (currency == "JPY" and amount > 20000)
                          or (currency == "KWD" and amount > 60)
                          or (currency == "NGN" and amount > 80000)))
        and distinct(destination when source == $current.source
                                      and destination != $current.destination
                                      and metadata.payee_added_minutes_ago between 0 and 59
                                      and not (stage in ("failed", "expired", "void", "returned")), "PT30M") >= 3
    then review
        score 0.65
        reason "Four new payees within half an hour. Hold the remaining payments and confirm the list with the customer."
}
