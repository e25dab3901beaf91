rule repeated_transfers_below_limit {
    description "Ten or more transfers from 5,000 to just under 10,000 within 30 days: one large sum cut to stay below reporting limits."
    when amount between 5000 and 9999.99
        and metadata.type == "transfer"
        and source not_in $payroll_sources
        and not (metadata.declared_monthly_volume >= 100000)
        and count(when source == $current.source
                   and amount between 5000 and 9999.99
                   and metadata.type == "transfer"
                   and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                       "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P30D") >= 9
    then review
        score 0.7
        reason "Tenth transfer just below 10,000 within 30 days. Ask for the purpose and consider a report."
}
