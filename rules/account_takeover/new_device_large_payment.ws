// A payment without a device id (a standing order, a branch) would never match an earlier one: it is asked for first.
// A device becomes known by payments that went through, not by attempts.
rule new_device_large_payment {
    description "More than 500 from a device this account has not used for 180 days: the first thing a thief of credentials does."
    when amount > 500
        and metadata.device_id != ""
        and not (metadata.mfa == true)
        and count(when source == $current.source and status == "applied", "P180D") >= 3
        and not previous_transaction(within: "P180D", match: {
            source: "$current.source",
            metadata.device_id: "$current.metadata.device_id",
            status: "applied"
        })
    then review
        score 0.7
        reason "Large payment from an unknown device. Send a confirmation to the device known longest."
}
