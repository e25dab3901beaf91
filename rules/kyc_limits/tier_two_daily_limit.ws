// A calendar day, not 24 hours: the window reaches far enough back, the filter keeps what has today's date. Midnight is
// that of the market.
rule tier_two_daily_limit {
    description "A tier 2 customer pays more than 10,000 in one calendar day: allowed after a look at the purpose."
    when metadata.kyc_tier == 2
        and amount + sum(when source == $current.source
                          and day_of_year(timestamp, "Africa/Lagos") == day_of_year($current.timestamp, "Africa/Lagos")
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void",
                                              "voided")), "P1D") > 10000
    then review
        score 0.5
        reason "Above the daily limit of tier 2. Ask for the purpose; offer the upgrade to tier 3."
}
