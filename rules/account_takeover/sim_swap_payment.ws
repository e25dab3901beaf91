rule sim_swap_payment {
    description "A mobile payment within three days of a SIM swap: codes by text message now reach whoever holds the new card."
    when metadata.days_since_sim_swap <= 3
        and metadata.channel in ("ussd", "mobile_app", "sms")
        and amount >= 100
        and not (metadata.sim_swap_confirmed == true)
    then review
        score 0.8
        reason "Mobile payment shortly after a SIM swap. Reach the customer by any way other than this phone number."
}
