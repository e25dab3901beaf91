// Many customers of one bank buy at one shop: it is the declined cards that tell.
rule bin_probe {
    description "A sixth card of one issuer range at one merchant within a quarter of an hour, after five were declined: numbers are being generated."
    when metadata.card_present == false
        and distinct(metadata.card_fingerprint when metadata.merchant_id == $current.metadata.merchant_id
                                                    and metadata.bin == $current.metadata.bin
                                                    and metadata.card_fingerprint != $current.metadata.card_fingerprint
                                                    and stage == "failed", "PT15M") >= 5
    then review
        score 0.7
        reason "Generated card numbers of one issuer range. Warn the issuer and challenge the range."
}
