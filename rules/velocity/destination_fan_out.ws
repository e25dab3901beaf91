// Four other payees in the window and the current one make five, whether or not it has been paid before.
rule destination_fan_out {
    description "Five or more different payees within half an hour: how an account is emptied before its owner notices."
    when source not_in $payroll_sources
        and distinct(destination when source == $current.source
                                  and destination != $current.destination
                                  and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                      "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                      "voided")), "PT30M") >= 4
    then review
        score 0.65
        reason "Five different payees within half an hour. Hold the remaining payments and confirm the list with the customer."
}
