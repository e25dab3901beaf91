// Declines are asked for because honest people share an address too; gateways known to be shared are listed, and mobile
// networks put hundreds of customers behind one address.
rule many_cards_one_network {
    description "Four or more cards declined from one internet address within half an hour: stolen numbers are tried one after another."
    when metadata.ip not_in $shared_networks
        and not (metadata.ip_type in ("mobile", "business"))
        and distinct(metadata.card_fingerprint when metadata.ip == $current.metadata.ip
                                                    and stage == "failed", "PT30M") >= 4
    then review
        score 0.8
        reason "Card testing from this address. Challenge the address and review its approved charges."
}
