rule rapid_card_reuse {
    description "The same card again within a minute: people need longer than that to fill a basket, programs do not."
    when metadata.card_fingerprint not_regex "^(|unknown)$"
        and not (metadata.three_ds == "passed")
        and previous_transaction(time_window: "PT1M", match: {
            metadata.card_fingerprint: "$current.metadata.card_fingerprint"
        })
    then review
        score 0.6
        reason "Second charge on this card within a minute. Look at the pace of the attempts before it."
}
