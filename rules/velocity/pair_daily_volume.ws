rule pair_daily_volume {
    description "More than 200,000 from one payer to one payee within a day, in however many parts: worth a record even when lawful."
    when source not_in $payroll_sources
        and destination not_in $merchant_settlement_accounts
        and amount + sum(when source == $current.source and destination == $current.destination
                         and currency == $current.currency
                         and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                             "lapsed", "refunded", "rejected", "reversed", "void",
                                             "voided")), "P1D") > 200000
    then alert
        score 0.5
        reason "More than 200,000 between this pair within a day. Check the contract or invoice behind it."
}
