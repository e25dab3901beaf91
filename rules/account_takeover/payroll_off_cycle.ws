// Salaries leave from the 24th to the 3rd. The zone matters on the days at either end. A bonus, severance pay or a weekly
// wage goes to an account that was paid before.
rule payroll_off_cycle {
    description "A salary leaves in the middle of the month for an account the employer never paid: sent by whoever broke into the mailbox of the payroll clerk."
    when (source in $payroll_sources or metadata.type == "salary")
        and day_of_month(timestamp, "Europe/Berlin") between 4 and 23
        and not (metadata.run_approved_by_two == true)
        and count(when source == $current.source and stage == "settled", "P60D") >= 1
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
    then review
        score 0.55
        reason "First salary to this account, outside the usual days. Call the employer's known contact before release."
}
