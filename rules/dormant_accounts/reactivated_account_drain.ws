// All payments of the last 180 days fall into the last seven: that is what waking up looks like.
rule reactivated_account_drain {
    description "An account asleep for half a year woke within the last week and has paid out more than 5,000 since: it is being emptied."
    when amount > 100
        and count(when source == $current.source and status == "applied", "P7D") >= 1
        and amount + sum(when source == $current.source and status == "applied", "P7D") > 5000
        and count(when source == $current.source and status == "applied", "P180D")
          == count(when source == $current.source and status == "applied", "P7D")
        and count(when source == $current.source and status == "applied", "P400D")
          > count(when source == $current.source and status == "applied", "P180D")
    then review
        score 0.75
        reason "More than 5,000 left a reawakened account within a week. Stop further payments until the owner is verified."
}
