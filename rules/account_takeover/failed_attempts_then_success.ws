rule failed_attempts_then_success {
    description "A payment above 1,000 goes through after two failed attempts within an hour: someone was guessing and has guessed right."
    when amount > 1000
        and not (status in ("failed", "declined", "reversed"))
        and not (metadata.mfa == true)
        and count(when source == $current.source and status in ("failed", "declined"), "PT1H") >= 2
    then review
        score 0.8
        reason "Success after repeated failures. Check whether the failures came from the same device and place."
}
