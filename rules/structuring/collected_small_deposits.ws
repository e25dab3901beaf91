rule collected_small_deposits {
    description "Five or more payers send less than 3,000 each to one account, above 10,000 together within a week: smurfs feeding one hand."
    when amount < 3000
        and destination not_in $merchant_settlement_accounts
        and distinct(source when destination == $current.destination
                             and source != $current.source
                             and amount < 3000
                             and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                 "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                 "voided")), "P7D") >= 4
        and amount + sum(when destination == $current.destination
                          and amount < 3000
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void",
                                              "voided")), "P7D") > 10000
    then alert
        score 0.6
        reason "Many small payments from different people gather here. Compare names and addresses of the payers."
}
