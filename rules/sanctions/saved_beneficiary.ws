// The list travels with the transaction: an array in its metadata.
rule saved_beneficiary {
    description "The payee is among the beneficiaries the customer saved and confirmed: a calm sign for whoever reviews the payment."
    when destination in $current.metadata.saved_beneficiaries
        and amount <= 5000
    then approve
        score 0.0
        reason "The customer saved this payee and confirmed it with a second factor."
}
