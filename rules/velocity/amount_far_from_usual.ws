// Only payments that went through are usual; attempts would let a thief widen the range step by step.
rule amount_far_from_usual {
    description "An amount more than four standard deviations above what the account usually pays: a slip of the keyboard or a takeover."
    when ((currency not_in ("JPY", "NGN") and amount > 200)
          or (currency == "JPY" and amount > 20000)
          or (currency == "NGN" and amount > 80000))
        and source not_in $payroll_sources
        and count(when source == $current.source and currency == $current.currency
                  and stage == "settled", "P90D") >= 10
        and amount > avg(when source == $current.source and currency == $current.currency
                  and stage == "settled", "P90D")
             + 4 * stddev(amount when source == $current.source and currency == $current.currency
                  and stage == "settled", "P90D")
    then alert
        score 0.45
        reason "Amount far outside the account's usual range. Look for a misplaced decimal point first."
}
