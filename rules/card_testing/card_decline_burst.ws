// A page that breaks and a customer who cancels are no declines. A wrong PIN and a machine that cannot read the card are mishaps at a till: they count only for the day.
rule card_decline_burst {
    description "A card declined four times within an hour over the internet, or ten times within a day, is tried again: its number is being guessed or tested."
    when metadata.card_fingerprint != ""
        and ((metadata.card_present == false
              and count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                             and metadata.card_present == false
                             and stage == "failed"
                             and not (status in ("canc", "canceled", "cancelled", "error", "failed", "failure")), "PT1H") >= 4)
             or count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                           and stage == "failed"
                           and not (status in ("canc", "canceled", "cancelled", "error", "failed", "failure")), "PT24H") >= 10)
    then review
        score 0.8
        reason "Too many declines on this card. Hold further attempts for a day and tell the issuer."
}
