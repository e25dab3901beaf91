// The savings that follow a customer to a new bank come from one account, and salaries do not count. Purchases by
// card and standing orders pass nothing on.
rule fan_in_fan_out {
    description "An account younger than 60 days takes in from three or more payers and pays out within a day: a mule at work."
    when metadata.account_age_days < 60
        and source not_in $merchant_settlement_accounts
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 100)
             or (currency == "JPY" and amount > 10000)
             or (currency == "KWD" and amount > 30)
             or (currency == "NGN" and amount > 40000))
        and distinct(source when destination == $current.source
                                 and not (metadata.type in ("salary", "pension", "refund"))
                                 and not (stage in ("failed", "expired", "void", "returned")), "PT24H") >= 3
    then review
        score 0.9
        reason "A young account passes on what it collects. Hold, and warn the banks of the payers."
}
