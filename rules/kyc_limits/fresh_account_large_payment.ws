rule fresh_account_large_payment {
    description "An account opened less than a day ago pays more than 1,000: made for one use."
    when metadata.account_age_days < 1
        and amount > 1000
        and source not_in $merchant_settlement_accounts
    then review
        score 0.6
        reason "Large payment from an account opened today. Check the documents of the opening before release."
}
