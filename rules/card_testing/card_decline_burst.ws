rule card_decline_burst {
    description "A card declined four times within an hour, or six times within a day, is tried again: its number is being guessed or tested."
    when metadata.card_fingerprint != ""
        and (count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                    and status == "declined", "PT1H") > 3
             or count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                       and status == "declined", "PT24H") > 5)
    then block
        score 0.9
        reason "Too many declines on this card. Refuse further attempts for a day and tell the issuer."
}
