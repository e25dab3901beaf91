// The caller says how many hours ago password, email or phone was changed last. With the step-up passed the same facts
// lead to `credential_change_stepped_up`. On the day an account is opened everything is new: three payments are asked
// for, without which nothing is unusual.
rule credential_change_new_payee {
    description "Credentials changed within a day, a payee never paid before and an unusual amount: an account takeover until proven otherwise."
    when metadata.hours_since_credential_change < 24
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 250)
             or (currency == "JPY" and amount > 25000)
             or (currency == "KWD" and amount > 75)
             or (currency == "NGN" and amount > 100000))
        and destination != ""
        and not (metadata.mfa == true)
        and not (destination in $current.metadata.saved_beneficiaries)
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
        and count(when source == $current.source and currency == $current.currency and stage == "settled", "P90D") >= 3
        and amount > 2 * avg(when source == $current.source
                                  and currency == $current.currency
                                  and stage == "settled", "P90D")
    then review
        score 0.9
        reason "New payee right after a change of credentials. Lock the account and call the customer on the number held before the change."
}
