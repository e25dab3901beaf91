// A payment without a device id (a standing order, a branch) would never match an earlier one: it is asked for first.
// A device becomes known by payments that went through, not by attempts.
rule new_device_large_payment {
    description "A large payment from a device this account has not used for 180 days, without a second factor: the first thing a thief of credentials does."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 500)
          or (currency == "JPY" and amount > 50000)
          or (currency == "KWD" and amount > 150)
          or (currency == "NGN" and amount > 200000))
        and metadata.device_id != ""
        and not (metadata.mfa == true)
        and count(when source == $current.source and stage == "settled", "P180D") >= 3
        and not previous_transaction(within: "P180D", match: {
            source: "$current.source",
            metadata.device_id: "$current.metadata.device_id",
            stage: "settled",
        })
    then review
        score 0.7
        reason "Large payment from an unknown device. Send a confirmation to the device known longest."
}
