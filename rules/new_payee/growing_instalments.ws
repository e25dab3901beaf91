// A deposit and the rest are two payments; the third or fourth, larger than all before, is an instalment of a scam.
rule growing_instalments {
    description "A payee first paid within two weeks gets more every time: a romance that needs money, or an adviser whose gains exist on a screen only."
    when metadata.type in ("transfer", "wire", "crypto")
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 40)
             or (currency == "JPY" and amount > 4000)
             or (currency == "KWD" and amount > 12)
             or (currency == "NGN" and amount > 16000))
        and metadata.device_id != ""
        and destination not_in $merchant_settlement_accounts
        and source not_in $payroll_sources
        and not (metadata.device_kind == "agent_terminal")
        and not (destination in $current.metadata.saved_beneficiaries)
        and count(when source == $current.source
                       and destination == $current.destination
                       and currency == $current.currency
                       and stage == "settled", "P14D") >= 2
        and count(when source == $current.source
                       and destination == $current.destination
                       and currency == $current.currency
                       and stage == "settled", "P365D")
          == count(when source == $current.source
                        and destination == $current.destination
                        and currency == $current.currency
                        and stage == "settled", "P14D")
        and ((count(when source == $current.source
                         and destination == $current.destination
                         and currency == $current.currency
                         and stage == "settled", "P14D") >= 3
              and amount > 1.2 * max(when source == $current.source
                                          and destination == $current.destination
                                          and currency == $current.currency
                                          and stage == "settled", "P14D"))
             or (((currency not_in ("JPY", "KWD", "NGN") and amount > 400)
                  or (currency == "JPY" and amount > 40000)
                  or (currency == "KWD" and amount > 120)
                  or (currency == "NGN" and amount > 160000))
                 and amount > 2 * max(when source == $current.source
                                           and destination == $current.destination
                                           and currency == $current.currency
                                           and stage == "settled", "P14D")))
    then review
        score 0.65
        reason "Growing payments to a payee of two weeks. Ask the customer whether they have met, and what they were promised."
}
