rule payee_suddenly_popular {
    description "Six or more strangers enter and pay a new payee within its first day of income: a fake shop or the account of a collector has opened."
    when destination not_in $merchant_settlement_accounts
        and metadata.type == "transfer"
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 30)
             or (currency == "JPY" and amount > 3000)
             or (currency == "KWD" and amount > 9)
             or (currency == "NGN" and amount > 12000))
        and metadata.payee_added_minutes_ago between 0 and 59
        and distinct(source when destination == $current.destination
                                 and source != $current.source
                                 and metadata.payee_added_minutes_ago between 0 and 59
                                 and not (stage in ("failed", "expired", "void", "returned")), "P1D") >= 5
        and count(when destination == $current.destination
                       and not (stage in ("failed", "expired", "void", "returned")), "P30D")
          == count(when destination == $current.destination
                        and not (stage in ("failed", "expired", "void", "returned")), "P1D")
    then review
        score 0.5
        reason "Many first payments to a new payee. Ask two of the payers what they bought."
}
