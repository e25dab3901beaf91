// Salaries leave from the 24th to the 3rd. The zone matters on the days at either end.
rule payroll_off_cycle {
    description "A payroll account pays in the middle of the month: salary files are sent by whoever broke into the mailbox of the payroll clerk."
    when source in $payroll_sources
        and day_of_month(timestamp, "Europe/Berlin") between 4 and 23
        and not (metadata.run_approved_by_two == true)
    then review
        score 0.55
        reason "Payroll outside the usual days without a second approval. Call the employer's known contact before release."
}
