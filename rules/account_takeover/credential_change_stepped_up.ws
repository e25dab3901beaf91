rule credential_change_stepped_up {
    description "As credential_change_new_payee, but a second factor was passed: the factor may have been changed too, so a person looks."
    when metadata.hours_since_credential_change < 24
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 250)
             or (currency == "JPY" and amount > 25000)
             or (currency == "KWD" and amount > 75)
             or (currency == "NGN" and amount > 100000))
        and destination != ""
        and metadata.mfa == true
        and not (destination in $current.metadata.saved_beneficiaries)
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
        and count(when source == $current.source and currency == $current.currency and stage == "settled", "P90D") >= 3
        and amount > 2 * avg(amount when source == $current.source
                                         and currency == $current.currency
                                         and stage == "settled", "P90D")
    then review
        score 0.6
        reason "New payee after a change of credentials, second factor passed. Check that the factor is older than the change."
}
