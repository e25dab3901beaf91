// Declines are asked for because honest people share an address too; gateways known to be shared are listed.
rule many_cards_one_network {
    description "Five or more cards declined from one internet address within ten minutes: stolen numbers are tried one after another."
    when metadata.ip not_in $shared_networks
        and distinct(metadata.card_fingerprint when metadata.ip == $current.metadata.ip
                                                and status == "declined", "PT10M") >= 5
    then block
        score 0.95
        reason "Card testing from this address. Block the address at the edge and review its approved charges."
}
