// People telephone while they shop: a call beside a purchase by card is nothing, a steered screen is.
rule remote_access_new_payee {
    description "A first payment to a payee while the customer is on the phone or somebody else steers the screen: the scam in progress."
    when (metadata.session.remote_access == true
          or (metadata.session.call_in_progress == true and not (metadata.type in ("sale", "card"))))
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 100)
             or (currency == "JPY" and amount > 10000)
             or (currency == "KWD" and amount > 30)
             or (currency == "NGN" and amount > 40000))
        and destination != ""
        and not (metadata.device_kind == "agent_terminal")
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
    then review
        score 0.9
        reason "Someone may be steering this payment. Hold it, end the session and call the customer back later."
}
