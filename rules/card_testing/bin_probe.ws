rule bin_probe {
    description "Six or more cards of one issuer range at one merchant within a quarter of an hour, small amounts only: numbers are being generated."
    when amount <= 5
        and distinct(metadata.card_fingerprint when metadata.merchant_id == $current.metadata.merchant_id
                                                and metadata.bin == $current.metadata.bin
                                                and metadata.card_fingerprint != $current.metadata.card_fingerprint
                                                and amount <= 5, "PT15M") >= 5
    then review
        score 0.7
        reason "Generated card numbers of one issuer range. Warn the issuer and challenge the range."
}
