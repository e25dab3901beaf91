// A second try after a decline is what people do, and so is a second ticket at the machine. Shops that charge an order in
// parts match too: a hint, which holds nothing.
rule rapid_card_reuse {
    description "The same card again over the internet within a minute of a charge that went through: people need longer than that to fill a basket, programs do not."
    when metadata.card_fingerprint not_regex "^(|unknown)$"
        and metadata.card_present == false
        and metadata.type == "sale"
        and not (metadata.three_ds == "passed")
        and previous_transaction(time_window: "PT1M", match: {
            metadata.card_fingerprint: "$current.metadata.card_fingerprint",
            metadata.card_present: false,
            stage: "settled",
        })
    then alert
        score 0.4
        reason "Second charge on this card within a minute. Look at the pace of the attempts before it."
}
