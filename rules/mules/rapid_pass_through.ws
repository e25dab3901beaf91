// The same account seen from both sides: as destination of what came in, as source of what leaves. A salary, a bonus that
// goes to the savings and the rent on payday are ordinary life.
rule rapid_pass_through {
    description "Money received by transfer within the last two hours leaves again for somebody never paid, half of it or more: the account is a pipe."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 200)
          or (currency == "JPY" and amount > 20000)
          or (currency == "KWD" and amount > 60)
          or (currency == "NGN" and amount > 80000))
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and source not_in $merchant_settlement_accounts
        and source not_in $payroll_sources
        and not (destination in $current.metadata.saved_beneficiaries)
        and count(when destination == $current.source
                       and currency == $current.currency
                       and not (metadata.type in ("salary", "pension", "benefit", "payout", "refund", "chargeback",
                                                  "cash_deposit"))
                       and not (stage in ("failed", "expired", "void", "returned")), "PT2H")
          >= 1
        and amount >= 0.5 * sum(when destination == $current.source
                                     and currency == $current.currency
                                     and not (metadata.type in ("salary", "pension", "benefit", "payout", "refund",
                                                                "chargeback", "cash_deposit"))
                                     and not (stage in ("failed", "expired", "void", "returned")), "PT2H")
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
    then review
        score 0.85
        reason "Income leaves as soon as it arrives. Hold it and ask the customer who sent the money and why."
}
