// A household has two or three cards, and does not use all of them in an afternoon.
rule many_cards_one_device {
    description "A fourth card within three hours on one device: a bought list is being worked through by hand."
    when metadata.device_id != ""
        and metadata.card_fingerprint != ""
        and not (metadata.device_kind == "agent_terminal")
        and distinct(metadata.card_fingerprint when metadata.device_id == $current.metadata.device_id
                                                    and metadata.card_fingerprint != $current.metadata.card_fingerprint, "PT3H")
          >= 3
    then review
        score 0.75
        reason "Four cards on one device. Hold, and look at what the other cards bought."
}
