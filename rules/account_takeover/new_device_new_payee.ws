// A new telephone pays known payees first, and asks for the second factor when it does not. The first payment of a new
// account has nothing to be compared with and is left alone.
rule new_device_new_payee {
    description "A device and a payee that this account never used come together, without a second factor or for a large sum: a stolen session."
    when metadata.type in ("transfer", "wire", "crypto")
        and metadata.device_id != ""
        and not (metadata.device_kind == "agent_terminal")
        and ((not (metadata.mfa == true)
              and ((currency not_in ("JPY", "KWD", "NGN") and amount > 20)
                   or (currency == "JPY" and amount > 2000)
                   or (currency == "KWD" and amount > 6)
                   or (currency == "NGN" and amount > 8000)))
             or ((currency not_in ("JPY", "KWD", "NGN") and amount > 300)
                 or (currency == "JPY" and amount > 30000)
                 or (currency == "KWD" and amount > 90)
                 or (currency == "NGN" and amount > 120000)))
        and destination not_in $merchant_settlement_accounts
        and count(when source == $current.source and stage == "settled", "P400D") >= 1
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            metadata.device_id: "$current.metadata.device_id",
            stage: "settled",
        })
    then review
        score 0.7
        reason "New device and new payee. Confirm on the device known longest, or call the customer."
}
