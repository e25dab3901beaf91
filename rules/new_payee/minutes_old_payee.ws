rule minutes_old_payee {
    description "A large sum to a payee entered less than an hour ago: those who know their payee seldom hurry so."
    when meta_data.payee_added_minutes_ago between 0 and 59
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 500)
             or (currency == "JPY" and amount > 50000)
             or (currency == "KWD" and amount > 150)
             or (currency == "NGN" and amount > 200000))
        and not (meta_data.pair in $trusted_pairs)
        and not (destination in $current.meta_data.saved_beneficiaries)
        and source not_in $payroll_sources
    then review
        score 0.6
        reason "Large payment to a payee added minutes ago. Check the name against the account, then ask the customer."
}
