// Two wrong PINs at a till and a card that a machine cannot read are ordinary; so are three mistyped numbers.
rule failed_attempts_then_success {
    description "A payment goes through after four failed attempts within an hour, without a second factor: someone was guessing and has guessed right."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 100)
          or (currency == "JPY" and amount > 10000)
          or (currency == "KWD" and amount > 30)
          or (currency == "NGN" and amount > 40000))
        and not (stage in ("failed", "expired", "void", "returned"))
        and not (metadata.mfa == true)
        and not (metadata.card_present == true)
        and not (metadata.three_ds == "passed")
        and count(when source == $current.source
                       and not (metadata.card_present == true)
                       and stage == "failed", "PT1H") >= 4
    then review
        score 0.8
        reason "Success after repeated failures. Check whether the failures came from the same device and place."
}
