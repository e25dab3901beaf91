// New students pay their dormitory by standing order.
rule young_accounts_feed_collector {
    description "Four or more accounts younger than 60 days pay into the same account within a week: mules handing over to their collector."
    when metadata.account_age_days < 60
        and destination not_in $merchant_settlement_accounts
        and not (metadata.type in ("standing_order", "direct_debit"))
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 200)
             or (currency == "JPY" and amount > 20000)
             or (currency == "KWD" and amount > 60)
             or (currency == "NGN" and amount > 80000))
        and distinct(source when destination == $current.destination
                                 and source != $current.source
                                 and metadata.account_age_days < 60
                                 and not (metadata.type in ("standing_order", "direct_debit"))
                                 and not (stage in ("failed", "expired", "void", "returned")), "P7D") >= 3
    then review
        score 0.7
        reason "Several young accounts feed this payee. Review the payee first, then its payers."
}
