rule dormant_new_payee_contact_change {
    description "A quiet account pays someone new less than 30 days after its contact details changed: prepared, not remembered."
    when metadata.days_since_contact_change < 30
        and destination != ""
        and count(when source == $current.source and status == "applied", "P180D") == 0
        and count(when source == $current.source and status == "applied", "P400D") >= 1
        and not previous_transaction(within: "P400D", match: {
            source: "$current.source",
            destination: "$current.destination",
            status: "applied"
        })
    then review
        score 0.9
        reason "Dormant account, new contact details, new payee. Lock it and write to the address held before the change."
}
