// The caller attaches what the receiving customer has declared; without a declaration the rule has nothing to say.
rule inflow_over_declared_income {
    description "An account receives more than five times its owner's declared monthly income within 30 days: somebody else's money."
    when metadata.declared_monthly_income > 0
        and amount > 500
        and destination not_in $merchant_settlement_accounts
        and amount + sum(when destination == $current.destination
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P30D")
          > 5 * metadata.declared_monthly_income
    then alert
        score 0.5
        reason "Income far above the declared one. Ask for evidence of where the money comes from."
}
