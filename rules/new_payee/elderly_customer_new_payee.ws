// Only payments that went through make a payee known or an amount usual: otherwise a second attempt would pass on the
// strength of the first one, which was refused.
rule elderly_customer_new_payee {
    description "A customer above 70 pays someone new five times their usual amount: how savings leave after a call from a false officer."
    when metadata.customer_age > 70
        and amount > 1000
        and destination != ""
        and not (metadata.pair in $trusted_pairs)
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            status: "applied"
        })
        and count(when source == $current.source and status == "applied", "P90D") >= 3
        and amount > 5 * avg(when source == $current.source and status == "applied", "P90D")
    then review
        score 0.85
        reason "Large first payment of an elderly customer. Call, and ask who told them to pay; do not read out the payee's name."
}
