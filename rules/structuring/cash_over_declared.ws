// A good month is half as much again, not twice as much.
rule cash_over_declared {
    description "A business pays in more than twice the cash within 30 days that it declared for a month: somebody else's money among the takings."
    when metadata.type == "cash_deposit"
        and metadata.declared_monthly_cash > 0
        and amount + sum(when destination == $current.destination
                              and metadata.type == "cash_deposit"
                              and currency == $current.currency
                              and not (stage in ("failed", "expired", "void", "returned")), "P30D") > 2 * metadata.declared_monthly_cash
    then review
        score 0.65
        reason "Cash far beyond the declared takings. Ask for the till records of these days."
}
