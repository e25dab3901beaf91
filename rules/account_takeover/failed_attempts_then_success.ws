rule failed_attempts_then_success {
    description "A payment above 1,000 goes through after two failed attempts within an hour: someone was guessing and has guessed right."
    when amount > 1000
        and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed", "lapsed",
                            "refunded", "rejected", "reversed", "void", "voided"))
        and not (metadata.mfa == true)
        and count(when source == $current.source and status in ("canceled", "cancelled", "declined", "failed",
                                                                "rejected"), "PT1H") >= 2
    then review
        score 0.8
        reason "Success after repeated failures. Check whether the failures came from the same device and place."
}
