// Tiny is a quarter of the ticket that the merchant declared, so that the rule holds in every currency. Declined refunds
// say that the merchant has no money, not that cards are tested.
rule tiny_authorisations_at_merchant {
    description "Three other cards were declined with tiny charges at one merchant within two hours, and another one comes: its checkout is a testing ground."
    when metadata.card_present == false
        and not (metadata.type in ("refund", "chargeback"))
        and amount <= 0.25 * metadata.declared_average_ticket
        and distinct(metadata.card_fingerprint when metadata.merchant_id == $current.metadata.merchant_id
                                                    and metadata.card_fingerprint != $current.metadata.card_fingerprint
                                                    and amount <= 0.25 * $current.metadata.declared_average_ticket
                                                    and not (metadata.type in ("refund", "chargeback"))
                                                    and stage == "failed", "PT2H") >= 3
    then review
        score 0.7
        reason "The merchant's checkout is used to test cards. Ask the merchant to switch on a challenge."
}
