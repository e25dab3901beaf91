rule young_accounts_feed_collector {
    description "Five or more accounts younger than 30 days pay into the same account within a week: mules handing over to their collector."
    when metadata.account_age_days < 30
        and destination not_in $merchant_settlement_accounts
        and distinct(source when destination == $current.destination
                             and source != $current.source
                             and metadata.account_age_days < 30
                             and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                 "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                 "voided")), "P7D") >= 4
    then review
        score 0.7
        reason "Several young accounts feed this payee. Review the payee first, then its payers."
}
