// Naira: the ceiling of the lowest tier. Euro: the month of an account without identification.
rule tier_one_single_limit {
    description "A customer known by phone number only (tier 1) pays at once more than that level allows."
    when metadata.kyc_tier == 1
        and not (metadata.type == "cash_deposit")
        and ((currency == "NGN" and amount > 50000)
             or (currency == "EUR" and amount > 150)
             or (currency == "GBP" and amount > 130)
             or (currency == "USD" and amount > 165))
    then review
        score 0.8
        reason "Above the single limit of tier 1. Invite the customer to verify their identity."
}
