rule split_payment {
    description "One payee receives 10,000 or more from one payer within a day in parts below 5,000: a large payment in disguise."
    when amount < 5000
        and not (metadata.type == "card")
        and destination not_in $merchant_settlement_accounts
        and amount + sum(when source == $current.source and destination == $current.destination
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void",
                                              "voided")), "P1D") >= 10000
        and max(when source == $current.source and destination == $current.destination
                 and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                     "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D") < 5000
    then review
        score 0.6
        reason "A payment of 10,000 or more in small parts. Ask why it was not sent at once."
}
