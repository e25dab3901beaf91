rule anonymised_network_new_device {
    description "A payment to a new payee over a hidden or rented address and from a device not seen for 90 days: alone each is harmless, together rarely."
    when metadata.ip_type in ("vpn", "hosting", "tor", "proxy")
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and metadata.device_id != ""
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
             or (currency == "JPY" and amount > 5000)
             or (currency == "KWD" and amount > 15)
             or (currency == "NGN" and amount > 20000))
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
        and not previous_transaction(within: "P90D", match: {
            source: "$current.source",
            metadata.device_id: "$current.metadata.device_id",
            stage: "settled",
        })
    then review
        score 0.5
        reason "Unknown device behind an anonymising network, and a new payee. Confirm on a device known longer."
}
