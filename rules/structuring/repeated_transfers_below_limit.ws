// The limit is 10,000 in euros and dollars, 5,000,000 in naira. Businesses that declared this volume are left alone.
rule repeated_transfers_below_limit {
    description "The fourth transfer to one payee within 30 days of half the reporting limit or more, and below it: one large sum cut into pieces."
    when ((currency in ("EUR", "USD") and amount >= 5000 and amount < 10000)
          or (currency == "NGN" and amount >= 2500000 and amount < 5000000))
        and metadata.type in ("transfer", "wire")
        and source not_in $payroll_sources
        and not (metadata.declared_monthly_volume >= 10 * amount)
        and count(when source == $current.source
                       and destination == $current.destination
                       and currency == $current.currency
                       and ((currency in ("EUR", "USD") and amount >= 5000 and amount < 10000)
                            or (currency == "NGN" and amount >= 2500000 and amount < 5000000))
                       and metadata.type in ("transfer", "wire")
                       and not (stage in ("failed", "expired", "void", "returned")), "P30D")
          >= 3
    then review
        score 0.7
        reason "Fourth transfer just below the reporting limit to this payee within 30 days. Ask for the purpose and consider a report."
}
