rule wake_up_probe {
    description "The only payments of half a year are tiny and from the last day, and now a large one follows: the account was tested first."
    when amount > 1000
        and metadata.account_age_days > 180
        and count(when source == $current.source and status == "applied", "P1D") >= 1
        and count(when source == $current.source and status == "applied", "P180D")
          == count(when source == $current.source and status == "applied", "P1D")
        and max(amount when source == $current.source and status == "applied", "P1D") <= 5
    then alert
        score 0.5
        reason "A test payment woke this account. Compare the devices of both payments with the old ones."
}
