// Without history `min` is 0 and would satisfy any upper bound: the count in front of it is no ornament.
rule tiny_charge_then_large {
    description "A card is charged more than 200 within an hour of a charge of 2.00 or less: tested first, used then."
    when amount > 200
        and count(when metadata.card_fingerprint == $current.metadata.card_fingerprint, "PT1H") >= 1
        and min(amount when metadata.card_fingerprint == $current.metadata.card_fingerprint, "PT1H") <= 2
    then review
        score 0.7
        reason "A tiny charge came shortly before this large one. Verify the card holder before release."
}
