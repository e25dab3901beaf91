rule payee_suddenly_popular {
    description "Six or more strangers pay an account within its first day of income: a fake shop or a collector's account has opened."
    when destination not_in $merchant_settlement_accounts
        and distinct(source when destination == $current.destination and source != $current.source, "P1D") >= 5
        and count(when destination == $current.destination, "P30D")
          == count(when destination == $current.destination, "P1D")
    then alert
        score 0.5
        reason "Many first payments to a new payee. Ask two of the payers what they bought."
}
