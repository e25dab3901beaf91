// Only an earlier payment that went through makes a duplicate; a retry after a failure is welcome.
rule duplicate_payment {
    description "The same amount to the same payee again within five minutes: a double click or a client that retries with a new id."
    when not (metadata.repeat_intended == true)
        and previous_transaction(within: "PT5M", match: {
            source: "$current.source",
            destination: "$current.destination",
            amount: "$current.amount",
            currency: "$current.currency",
            status: "applied",
        })
    then review
        score 0.5
        reason "Looks like a payment made twice. Ask the customer; if it is, cancel this one."
}
