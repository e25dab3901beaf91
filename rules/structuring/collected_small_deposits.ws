// The limit is 10,000 in euros and dollars, 1,000,000 in yen, 3,000 in dinars, 5,000,000 in naira. The presents of a
// wedding and the money for a school trip stay far below.
rule collected_small_deposits {
    description "Six or more payers send one account middling sums within two days, seven tenths of the reporting limit together: smurfs feeding one hand."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount < 3000)
          or (currency == "JPY" and amount < 300000)
          or (currency == "KWD" and amount < 900)
          or (currency == "NGN" and amount < 1500000))
        and destination not_in $merchant_settlement_accounts
        and metadata.type in ("transfer", "wire")
        and ((currency not_in ("JPY", "KWD", "NGN")
              and amount + sum(when destination == $current.destination
                                    and currency == $current.currency
                                    and metadata.type in ("transfer", "wire")
                                    and not (stage in ("failed", "expired", "void", "returned")), "P2D") > 7000)
             or (currency == "JPY"
                 and amount + sum(when destination == $current.destination
                                       and currency == $current.currency
                                       and metadata.type in ("transfer", "wire")
                                       and not (stage in ("failed", "expired", "void", "returned")), "P2D") > 700000)
             or (currency == "KWD"
                 and amount + sum(when destination == $current.destination
                                       and currency == $current.currency
                                       and metadata.type in ("transfer", "wire")
                                       and not (stage in ("failed", "expired", "void", "returned")), "P2D") > 2100)
             or (currency == "NGN"
                 and amount + sum(when destination == $current.destination
                                       and currency == $current.currency
                                       and metadata.type in ("transfer", "wire")
                                       and not (stage in ("failed", "expired", "void", "returned")), "P2D") > 3500000))
        and distinct(source when destination == $current.destination
                                 and source != $current.source
                                 and currency == $current.currency
                                 and metadata.type in ("transfer", "wire")
                                 and not (stage in ("failed", "expired", "void", "returned")), "P2D") >= 5
    then review
        score 0.6
        reason "Many small payments from different people gather here. Compare names and addresses of the payers."
}
