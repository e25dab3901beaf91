// All payments of the last 180 days fall into the last fourteen: that is what waking up looks like.
rule reactivated_account_drain {
    description "An account asleep for half a year woke within the last two weeks and now pays a large sum: it was tested or warmed up before it is emptied."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 250)
          or (currency == "JPY" and amount > 25000)
          or (currency == "KWD" and amount > 75)
          or (currency == "NGN" and amount > 100000))
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and count(when source == $current.source and stage == "settled", "P14D") >= 1
        and count(when source == $current.source and stage == "settled", "P180D") == count(when source == $current.source
                                                                                                 and stage == "settled", "P14D")
        and count(when source == $current.source and stage == "settled", "P400D") > count(when source == $current.source
                                                                                                and stage == "settled", "P180D")
    then review
        score 0.75
        reason "Large transfer from a reawakened account. Stop further payments until the owner is verified."
}
