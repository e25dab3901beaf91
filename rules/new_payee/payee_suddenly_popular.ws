rule payee_suddenly_popular {
    description "Six or more strangers pay an account within its first day of income: a fake shop or a collector's account has opened."
    when destination not_in $merchant_settlement_accounts
        and distinct(source when destination == $current.destination and source != $current.source
                             and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                 "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                 "voided")), "P1D") >= 5
        and count(when destination == $current.destination
                  and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                      "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P30D")
          == count(when destination == $current.destination
                    and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                        "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D")
    then alert
        score 0.5
        reason "Many first payments to a new payee. Ask two of the payers what they bought."
}
