// One sum from the savings for one bill is ordinary; two of them from different payers, or four from one, are not.
rule repeated_pass_through {
    description "Sums that come in by transfer leave within a day and nearly whole, again and again within ten days: layers, not a life."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 300)
          or (currency == "JPY" and amount > 30000)
          or (currency == "KWD" and amount > 90)
          or (currency == "NGN" and amount > 120000))
        and metadata.type in ("transfer", "wire", "crypto")
        and source not_in $merchant_settlement_accounts
        and source not_in $payroll_sources
        and count(when destination == $current.source
                       and currency == $current.currency
                       and metadata.type in ("transfer", "wire", "crypto")
                       and not (stage in ("failed", "expired", "void", "returned")), "P10D")
          >= 2
        and count(when destination == $current.source
                       and currency == $current.currency
                       and metadata.type in ("transfer", "wire", "crypto")
                       and not (stage in ("failed", "expired", "void", "returned"))
                       and amount between $current.amount and 1.3 * $current.amount, "P1D") >= 1
        and amount + sum(when source == $current.source
                              and currency == $current.currency
                              and metadata.type in ("transfer", "wire", "crypto")
                              and not (stage in ("failed", "expired", "void", "returned")), "P10D")
          >= 0.5 * sum(when destination == $current.source
                            and currency == $current.currency
                            and metadata.type in ("transfer", "wire", "crypto")
                            and not (stage in ("failed", "expired", "void", "returned")), "P10D")
        and (count(when destination == $current.source
                        and currency == $current.currency
                        and metadata.type in ("transfer", "wire", "crypto")
                        and not (stage in ("failed", "expired", "void", "returned")), "P10D")
               >= 4
             or distinct(source when destination == $current.source
                                     and currency == $current.currency
                                     and metadata.type in ("transfer", "wire", "crypto")
                                     and not (stage in ("failed", "expired", "void", "returned")), "P10D") >= 2)
        and count(when source == $current.source
                       and currency == $current.currency
                       and metadata.type in ("transfer", "wire", "crypto")
                       and not (stage in ("failed", "expired", "void", "returned")), "P10D")
          >= 1
    then review
        score 0.7
        reason "Several sums passed through this account. Ask what business this is, and compare payers with payees."
}
