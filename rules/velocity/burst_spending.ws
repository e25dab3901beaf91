// The current payment is not part of its own history: five earlier ones make this the sixth. Payouts to merchants leave
// settlement accounts by the hundred, which is their business. Standing orders leave together on the first of the month.
rule burst_spending {
    description "Six or more payments from one account within ten minutes: a script or a thief in a hurry, rarely a person."
    when source not_in $payroll_sources
        and source not_in $merchant_settlement_accounts
        and not (metadata.type in ("standing_order", "direct_debit"))
        and not (stage == "returned")
        and count(when source == $current.source
                  and not (metadata.type in ("standing_order", "direct_debit"))
                  and not (stage == "returned"), "PT10M") >= 5
    then review
        score 0.6
        reason "Sixth payment or more within ten minutes. Ask the customer whether all of them are theirs before release."
}
