// The limit is data, not code: it comes with the transaction.
rule personal_limit_exceeded {
    description "The payment takes the customer above the daily limit they, or their bank, have set."
    when metadata.daily_limit >= 0
        and amount + sum(when source == $current.source
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void",
                                              "voided")), "P1D") > metadata.daily_limit
    then deny
        score 0.6
        reason "Above the customer's own daily limit. Tell them; they can raise it in the app and try again."
}
