rule refund_to_other_card {
    description "A high-risk merchant refunds a card that bought nothing there in 180 days: a way to cash out stolen cards."
    when metadata.type == "refund"
        and metadata.card_fingerprint != ""
        and metadata.mcc in $high_risk_mcc
        and not previous_transaction(within: "P180D", match: {
            metadata.type: "sale",
            metadata.merchant_id: "$current.metadata.merchant_id",
            metadata.card_fingerprint: "$current.metadata.card_fingerprint"
        })
    then review
        score 0.7
        reason "Refund without a sale on this card. Ask the merchant for the original order."
}
