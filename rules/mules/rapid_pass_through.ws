// The same account seen from both sides: as destination of what came in, as source of what leaves.
rule rapid_pass_through {
    description "Money received within the last hour leaves again, nine tenths of the day's income or more: the account is a pipe."
    when amount > 200
        and source not_in $merchant_settlement_accounts
        and source not_in $payroll_sources
        and previous_transaction(within: "PT1H", match: { destination: "$current.source" })
        and sum(when destination == $current.source
                 and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                     "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D") > 1000
        and amount + sum(when source == $current.source
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D")
          >= 0.9 * sum(when destination == $current.source
                        and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                            "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D")
    then review
        score 0.85
        reason "Income leaves as soon as it arrives. Hold it and ask the customer who sent the money and why."
}
