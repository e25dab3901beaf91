rule anonymised_network_new_device {
    description "A payment over a hidden or rented address and from a device not seen for 90 days: alone each is harmless, together rarely."
    when metadata.ip_type in ("vpn", "hosting", "tor", "proxy")
        and metadata.device_id != ""
        and not previous_transaction(within: "P90D", match: {
            "source": "$current.source",
            "metadata.device_id": "$current.metadata.device_id",
            "status": "applied"
        })
    then alert
        score 0.5
        reason "Unknown device behind an anonymising network. Watch the session; ask for a second factor on the next payment."
}
