// Who replaces a card after a loss goes on paying friends and shops; the thief pays an account of their own.
rule sim_swap_payment {
    description "A mobile payment to a new payee within three days of a SIM swap: codes by text message now reach whoever holds the new card."
    when metadata.days_since_sim_swap <= 3
        and metadata.channel in ("ussd", "mobile_app", "sms")
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 25)
             or (currency == "JPY" and amount > 2500)
             or (currency == "KWD" and amount > 7.5)
             or (currency == "NGN" and amount > 10000))
        and not (metadata.sim_swap_confirmed == true)
        and not previous_transaction(within: "P365D", match: {
            source: "$current.source",
            destination: "$current.destination",
            stage: "settled",
        })
    then review
        score 0.8
        reason "Mobile payment shortly after a SIM swap. Reach the customer by any way other than this phone number."
}
