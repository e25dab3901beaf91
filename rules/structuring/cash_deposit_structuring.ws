// The classic: 9,500 + 9,700 + 9,900. Businesses that declared this much cash are left alone; a customer without a
// declaration is not, which is why the guard is written with `not`: a missing value makes every comparison false.
rule cash_deposit_structuring {
    description "Three cash deposits below 10,000 within a day, above 18,000 together: kept below the reporting limit on purpose."
    when metadata.type == "cash_deposit"
        and amount between 5000 and 9999.99
        and not (metadata.declared_monthly_cash >= 25000)
        and count(when destination == $current.destination
                   and metadata.type == "cash_deposit"
                   and amount between 5000 and 9999.99
                   and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                       "lapsed", "refunded", "rejected", "reversed", "void", "voided")), "P1D") >= 2
        and amount + sum(when destination == $current.destination
                          and metadata.type == "cash_deposit"
                          and amount between 5000 and 9999.99
                          and not (status in ("canceled", "cancelled", "charged_back", "declined", "expired", "failed",
                                              "lapsed", "refunded", "rejected", "reversed", "void",
                                              "voided")), "P1D") > 18000
    then review
        score 0.8
        reason "Three cash deposits below 10,000 within a day. Ask for the origin of the cash; file a report if there is none."
}
