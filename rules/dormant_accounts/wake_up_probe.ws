// A coffee, and then a television in the shop or the rent by standing order: somebody is back from abroad.
rule wake_up_probe {
    description "The only payments of half a year are tiny and from the last week, and now one a hundred times larger follows: the account was tested first."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 250)
          or (currency == "JPY" and amount > 25000)
          or (currency == "KWD" and amount > 75)
          or (currency == "NGN" and amount > 100000))
        and not (metadata.card_present == true)
        and not (metadata.type in ("standing_order", "direct_debit", "salary", "pension", "payout", "refund",
                                   "chargeback"))
        and metadata.account_age_days > 180
        and count(when source == $current.source and stage == "settled", "P7D") >= 1
        and count(when source == $current.source and stage == "settled", "P180D") == count(when source == $current.source
                                                                                                 and stage == "settled", "P7D")
        and max(amount when source == $current.source and stage == "settled", "P7D") <= 0.01 * amount
    then review
        score 0.7
        reason "A test payment woke this account. Compare the devices of both payments with the old ones."
}
