rule tier_one_single_limit {
    description "A customer known by phone number only (tier 1) may pay at most 300 at once."
    when metadata.kyc_tier == 1 and amount > 300
    then block
        score 0.8
        reason "Above the single limit of tier 1. Invite the customer to verify their identity."
}
