rule never_used_account_large_payment {
    description "An account older than a year makes its first payment ever, more than 2,000: opened in stock, sold and now used."
    when metadata.account_age_days > 365
        and amount > 2000
        and count(when source == $current.source and status == "applied", "P400D") == 0
    then alert
        score 0.45
        reason "First use of an old account. Ask how the customer opened it and why it is used now."
}
