// The caller says how many hours ago password, email or phone was changed last. With the step-up passed the same facts
// lead to `credential_change_stepped_up`, which holds the payment and does not refuse it.
rule credential_change_new_payee {
    description "Credentials changed within a day, a payee never paid before and an unusual amount: an account takeover until proven otherwise."
    when metadata.hours_since_credential_change < 24
        and amount > 1000
        and destination != ""
        and not (metadata.mfa == true)
        and previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            status: "applied"
        }) == false
        and amount > 2 * avg(when source == $current.source and status == "applied", "P90D")
    then block
        score 0.9
        reason "New payee right after a change of credentials. Lock the account and call the customer on the number held before the change."
}
