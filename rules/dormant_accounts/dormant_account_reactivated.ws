// "Never" is not "long ago": an account without any payment in 400 days is new or empty, not dormant. What the account
// receives does not wake it; only what leaves counts.
rule dormant_account_reactivated {
    description "The first payment after 180 quiet days is a large transfer: sleeping accounts are taken over because nobody looks."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 250)
          or (currency == "JPY" and amount > 25000)
          or (currency == "KWD" and amount > 75)
          or (currency == "NGN" and amount > 100000))
        and not (metadata.type in ("sale", "card", "standing_order", "direct_debit", "salary", "pension", "payout",
                                   "refund", "chargeback"))
        and not (stage in ("failed", "expired", "void", "returned"))
        and count(when source == $current.source and stage == "settled", "P180D") == 0
        and count(when source == $current.source and stage == "settled", "P400D") >= 1
    then review
        score 0.7
        reason "The account was quiet for half a year. Verify the owner, then the payee."
}
