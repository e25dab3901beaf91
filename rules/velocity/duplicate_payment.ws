// Only an earlier payment that went through makes a duplicate; a retry after a failure is welcome. Who holds the card to
// a machine twice wants two tickets; two bus tickets in the app and two refunds of one price are ordinary as well.
rule duplicate_payment {
    description "The same amount to the same payee again within ten minutes, without a card in hand: a double click or a client that retries with a new id."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 10)
          or (currency == "JPY" and amount > 1000)
          or (currency == "KWD" and amount > 3)
          or (currency == "NGN" and amount > 4000))
        and not (metadata.repeat_intended == true)
        and not (metadata.type in ("refund", "chargeback"))
        and not (metadata.card_present == true)
        and source not_in $payroll_sources
        and source not_in $merchant_settlement_accounts
        and previous_transaction(within: "PT10M", match: {
            source: "$current.source",
            destination: "$current.destination",
            amount: "$current.amount",
            currency: "$current.currency",
            stage: "settled",
        })
    then review
        score 0.5
        reason "Looks like a payment made twice. Ask the customer; if it is, cancel this one."
}
