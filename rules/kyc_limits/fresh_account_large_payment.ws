// The deposit for the flat goes to a landlord whom the new customer saved and confirmed.
rule fresh_account_large_payment {
    description "An account opened less than a day ago makes a large payment to somebody its owner has not saved: made for one use."
    when metadata.account_age_days < 1
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 400)
             or (currency == "JPY" and amount > 40000)
             or (currency == "KWD" and amount > 120)
             or (currency == "NGN" and amount > 160000))
        and source not_in $merchant_settlement_accounts
        and not (destination in $current.metadata.saved_beneficiaries)
    then review
        score 0.6
        reason "Large payment from an account opened today. Check the documents of the opening before release."
}
