# The clock on the customer's wall decides what night is: the zone is that of the market, not of the server.
rule night_time_burst {
    description "Four or more payments within an hour between one and five at night, local time: owners sleep, thieves do not."
    when hour_of_day(timestamp, "Africa/Lagos") between 1 and 4
        and source not_in $payroll_sources
        and count(when source == $current.source and not (stage in ("failed", "expired", "void", "returned")), "PT1H") >= 3
    then alert
        score 0.4
        reason "Several payments in the small hours. Check whether this customer has paid at night before."
}
