rule credential_change_stepped_up {
    description "As credential_change_new_payee, but a second factor was passed: the factor may have been changed too, so a person looks."
    when metadata.hours_since_credential_change < 24
        and amount > 1000
        and destination != ""
        and metadata.mfa == true
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            status: "applied"
        })
        and amount > 2 * avg(amount when source == $current.source and status == "applied", "P90D")
    then review
        score 0.6
        reason "New payee after a change of credentials, second factor passed. Check that the factor is older than the change."
}
