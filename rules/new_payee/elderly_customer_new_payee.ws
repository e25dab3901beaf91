// Only payments that went through make a payee known or an amount usual: otherwise a second attempt would pass on the
// strength of the first one, which was refused.
rule elderly_customer_new_payee {
    description "A customer of 65 or more pays someone new five times their usual amount: how savings leave after a call from a false officer."
    when metadata.customer_age >= 65
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 400)
             or (currency == "JPY" and amount > 40000)
             or (currency == "KWD" and amount > 120)
             or (currency == "NGN" and amount > 160000))
        and destination != ""
        and not (metadata.pair in $trusted_pairs)
        and not (destination in $current.metadata.saved_beneficiaries)
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
        and count(when source == $current.source and currency == $current.currency and stage == "settled", "P90D") >= 3
        and amount > 5 * avg(when source == $current.source
                                  and currency == $current.currency
                                  and stage == "settled", "P90D")
    then review
        score 0.85
        reason "Large first payment of an elderly customer. Call, and ask who told them to pay; do not read out the payee's name."
}
