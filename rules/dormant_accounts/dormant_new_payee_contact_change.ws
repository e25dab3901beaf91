// Who comes back from abroad has a new address too: shopping with the card in hand, standing orders and saved payees are
// left alone.
rule dormant_new_payee_contact_change {
    description "A quiet account pays someone new less than 30 days after its contact details changed: prepared, not remembered."
    when metadata.days_since_contact_change < 30
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
             or (currency == "JPY" and amount > 5000)
             or (currency == "KWD" and amount > 15)
             or (currency == "NGN" and amount > 20000))
        and destination != ""
        and not (metadata.card_present == true)
        and not (metadata.type in ("standing_order", "direct_debit", "salary", "pension", "payout", "refund",
                                   "chargeback"))
        and not (destination in $current.metadata.saved_beneficiaries)
        and count(when source == $current.source and stage == "settled", "P180D") == 0
        and count(when source == $current.source and stage == "settled", "P400D") >= 1
        and not previous_transaction(within: "P400D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled"
        })
    then review
        score 0.9
        reason "Dormant account, new contact details, new payee. Lock it and write to the address held before the change."
}
