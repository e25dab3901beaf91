// The caller attaches what the receiving customer has declared; without a declaration the rule has nothing to say. An
// inheritance and severance pay come from one payer. Payers in other currencies are not counted.
rule inflow_over_declared_income {
    description "Within ten days three or more payers send an account 3.5 times its owner's declared monthly income: somebody else's money."
    when metadata.declared_monthly_income > 0
        and not (metadata.type in ("salary", "pension", "benefit", "payout", "refund", "chargeback", "cash_deposit"))
        and destination not_in $merchant_settlement_accounts
        and amount + sum(when destination == $current.destination
                              and currency == $current.currency
                              and not (metadata.type in ("salary", "pension", "benefit", "payout", "refund",
                                                         "chargeback", "cash_deposit"))
                              and not (stage in ("failed", "expired", "void", "returned")), "P10D") > 3.5 * metadata.declared_monthly_income
        and distinct(source when destination == $current.destination
                                 and source != $current.source
                                 and currency == $current.currency
                                 and not (metadata.type in ("salary", "pension", "benefit", "payout", "refund",
                                                            "chargeback", "cash_deposit"))
                                 and not (stage in ("failed", "expired", "void", "returned")), "P10D") >= 2
    then review
        score 0.5
        reason "Income far above the declared one. Ask for evidence of where the money comes from."
}
