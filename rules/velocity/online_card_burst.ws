// Whoever passes 3-D Secure holds the telephone of the card holder; those purchases are left alone. What a shop gives
// back is no purchase.
rule online_card_burst {
    description "The fourth purchase over the internet with one card within an hour, none of them confirmed by its holder: a thief who shops in a hurry."
    when metadata.card_present == false
        and not (metadata.type in ("refund", "chargeback"))
        and not (metadata.three_ds == "passed")
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 30)
             or (currency == "JPY" and amount > 3000)
             or (currency == "KWD" and amount > 9)
             or (currency == "NGN" and amount > 12000))
        and count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                       and metadata.card_present == false
                       and not (metadata.type in ("refund", "chargeback"))
                       and not (stage in ("failed", "expired", "void", "returned")), "PT1H")
          >= 3
    then review
        score 0.65
        reason "Fourth online purchase within an hour, not confirmed by the holder. Ask the holder before the goods leave."
}
