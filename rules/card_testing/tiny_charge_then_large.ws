// Without history `min` is 0 and would satisfy any upper bound: the count in front of it is no ornament. A coffee and then a
// hotel bill at the desk are a journey. A refund is no charge, and neither is the check of a newly saved card for 0.
rule tiny_charge_then_large {
    description "A card is charged over the internet within a day of a charge a hundred times smaller, and its holder confirmed neither: tested first, used then."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 150)
          or (currency == "JPY" and amount > 15000)
          or (currency == "KWD" and amount > 45)
          or (currency == "NGN" and amount > 60000))
        and metadata.card_present == false
        and not (metadata.type in ("refund", "chargeback"))
        and not (metadata.three_ds == "passed")
        and count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                       and metadata.card_present == false
                       and not (metadata.type in ("refund", "chargeback"))
                       and amount > 0
                       and currency == $current.currency, "P1D") >= 1
        and min(amount when metadata.card_fingerprint == $current.metadata.card_fingerprint
                            and metadata.card_present == false
                            and not (metadata.type in ("refund", "chargeback"))
                            and amount > 0
                            and currency == $current.currency, "P1D") <= 0.01 * amount
    then review
        score 0.7
        reason "A tiny charge came shortly before this large one. Verify the card holder before release."
}
