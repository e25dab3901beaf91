rule minutes_old_payee {
    description "More than 2,000 to a payee entered less than an hour ago: those who know their payee seldom hurry so."
    when meta_data.payee_added_minutes_ago between 0 and 59
        and amount > 2000
        and not (meta_data.pair in $trusted_pairs)
        and source not_in $payroll_sources
    then review
        score 0.6
        reason "Large payment to a payee added minutes ago. Check the name against the account, then ask the customer."
}
