// `max` tells the cautious from the busy: who has ever moved 10,000 or more in one piece does not shun the limit.
rule amounts_hug_the_limit {
    description "Repeated amounts in the last five hundred below 10,000 while nothing ever exceeds it: the limit is known and shunned."
    when amount between 9500 and 9999.99
        and source not_in $payroll_sources
        and count(when source == $current.source and amount between 9500 and 9999.99
                  and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                      "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P90D") >= 3
        and max(when source == $current.source
                and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                    "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P90D") < 10000
    then review
        score 0.65
        reason "Fourth amount just below 10,000 in 90 days and none above. Review the account's transfers as a whole."
}
