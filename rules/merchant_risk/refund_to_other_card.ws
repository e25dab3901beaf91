// A refund to the new card of a customer whose old one expired is mostly an ordinary ticket. The declared ticket is in
// the merchant's currency; the floor leaves small refunds in another one alone.
rule refund_to_other_card {
    description "A refund goes to a card that bought nothing there in 180 days, at a high-risk merchant or for a large sum: a way to cash out."
    when metadata.type == "refund"
        and metadata.card_fingerprint != ""
        and (metadata.mcc in $high_risk_mcc
             or (((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
                  or (currency == "JPY" and amount > 5000)
                  or (currency == "KWD" and amount > 15)
                  or (currency == "NGN" and amount > 20000))
                 and amount > 2 * metadata.declared_average_ticket))
        and not previous_transaction(within: "P180D", match: {
            metadata.type: "sale",
            metadata.merchant_id: "$current.metadata.merchant_id",
            metadata.card_fingerprint: "$current.metadata.card_fingerprint",
        })
    then review
        score 0.7
        reason "Refund without a sale on this card. Ask the merchant for the original order."
}
