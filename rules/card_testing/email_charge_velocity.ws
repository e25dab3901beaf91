// Addresses compare to the letter, so the caller sends them in lower case. Cards are counted, not charges: who is busy shopping
// uses one or two.
rule email_charge_velocity {
    description "A fourth card within three hours under one email address: a list of cards with a single made-up customer behind it."
    when metadata.email regex "@"
        and metadata.card_fingerprint != ""
        and distinct(metadata.card_fingerprint when metadata.email == $current.metadata.email
                                                    and metadata.card_fingerprint != $current.metadata.card_fingerprint, "PT3H")
          >= 3
    then review
        score 0.8
        reason "More than three cards under one email address within three hours. Hold, and compare the cards used."
}
