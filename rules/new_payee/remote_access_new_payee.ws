rule remote_access_new_payee {
    description "A first payment to a payee while the customer is on the phone or somebody else steers the screen: the scam in progress."
    when (metadata.session.call_in_progress == true or metadata.session.remote_access == true)
        and amount > 50
        and destination != ""
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            status: "applied"
        })
    then block
        score 0.9
        reason "Someone may be steering this payment. Refuse, end the session and call the customer back later."
}
