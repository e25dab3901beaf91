rule never_used_account_large_payment {
    description "An account older than half a year makes its first payment ever, a large transfer: opened in stock, sold and now used."
    when metadata.account_age_days > 180
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 500)
             or (currency == "JPY" and amount > 50000)
             or (currency == "KWD" and amount > 150)
             or (currency == "NGN" and amount > 200000))
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and not (metadata.device_kind == "agent_terminal")
        and count(when source == $current.source and stage == "settled", "P400D") == 0
    then review
        score 0.6
        reason "First use of an old account. Ask how the customer opened it and why it is used now."
}
