// The limit is 10,000 in euros and dollars, 5,000,000 in naira. Purchases by card are no parts of anything.
rule split_payment {
    description "One payee receives the reporting limit or more from one payer within a day in parts below it: a large payment in disguise."
    when not (metadata.type in ("card", "sale", "payout", "refund", "chargeback"))
        and destination not_in $merchant_settlement_accounts
        and ((currency != "NGN" and amount < 10000) or (currency == "NGN" and amount < 5000000))
        and count(when source == $current.source
                       and destination == $current.destination
                       and currency == $current.currency
                       and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                           "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D")
          >= 1
        and ((currency != "NGN"
              and amount + sum(when source == $current.source
                                    and destination == $current.destination
                                    and currency == $current.currency
                                    and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                        "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                        "voided")), "P1D") >= 10000)
             or (currency == "NGN"
                 and amount + sum(when source == $current.source
                                       and destination == $current.destination
                                       and currency == $current.currency
                                       and not (status in ("canceled", "cancelled", "charged_back", "declined",
                                                           "expired", "failed", "lapsed", "refunded", "rejected",
                                                           "reversed", "void", "voided")), "P1D") >= 5000000))
        and ((currency != "NGN"
              and max(when source == $current.source
                           and destination == $current.destination
                           and currency == $current.currency
                           and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                               "failed", "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D")
                < 10000)
             or (currency == "NGN"
                 and max(when source == $current.source
                              and destination == $current.destination
                              and currency == $current.currency
                              and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired",
                                                  "failed", "lapsed", "refunded", "rejected", "reversed", "void",
                                                  "voided")), "P1D") < 5000000))
    then review
        score 0.6
        reason "A payment above the reporting limit in smaller parts. Ask why it was not sent at once."
}
