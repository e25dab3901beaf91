// A calendar day, not 24 hours: the window reaches far enough back, the filter keeps what has today's date. Midnight is
// that of the market. 10,000 euros, 400,000 naira; purchases by card have limits of their own, and are not added up.
rule tier_two_daily_limit {
    description "A tier 2 customer pays more in one calendar day than that level allows: released after a look at the purpose."
    when metadata.kyc_tier == 2
        and not (metadata.type in ("cash_deposit", "sale"))
        and ((currency not_in ("JPY", "KWD", "NGN")
              and amount + sum(when source == $current.source
                                    and currency == $current.currency
                                    and not (metadata.type in ("cash_deposit", "sale"))
                                    and day_of_year(timestamp, "Africa/Lagos") == day_of_year($current.timestamp,
                                                                                              "Africa/Lagos")
                                    and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 10000)
             or (currency == "JPY"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (metadata.type in ("cash_deposit", "sale"))
                                       and day_of_year(timestamp, "Africa/Lagos") == day_of_year($current.timestamp,
                                                                                                 "Africa/Lagos")
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 1000000)
             or (currency == "KWD"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (metadata.type in ("cash_deposit", "sale"))
                                       and day_of_year(timestamp, "Africa/Lagos") == day_of_year($current.timestamp,
                                                                                                 "Africa/Lagos")
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 3000)
             or (currency == "NGN"
                 and amount + sum(when source == $current.source
                                       and currency == $current.currency
                                       and not (metadata.type in ("cash_deposit", "sale"))
                                       and day_of_year(timestamp, "Africa/Lagos") == day_of_year($current.timestamp,
                                                                                                 "Africa/Lagos")
                                       and not (stage in ("failed", "expired", "void", "returned")), "P1D") > 400000))
    then review
        score 0.5
        reason "Above the daily limit of tier 2. Ask for the purpose; offer the upgrade to tier 3."
}
