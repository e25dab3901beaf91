// Banks are closed and help is far: scammers like weekends. Friday evening counts as one.
rule weekend_new_payee {
    description "A large sum to a new payee from Friday evening to Sunday night, London time: chosen because nobody answers the phone."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 2000)
          or (currency == "JPY" and amount > 200000)
          or (currency == "KWD" and amount > 600)
          or (currency == "NGN" and amount > 800000))
        and destination != ""
        and (day_of_week(timestamp, "Europe/London") in ("Saturday", "sunday")
             or (day_of_week(timestamp, "Europe/London") == "Friday" and hour_of_day(timestamp, "Europe/London") >= 18))
        and source not_in $payroll_sources
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
    then alert
        score 0.35
        reason "Large first payment at the weekend. Keep it until Monday morning if the product allows it."
}
