// Honest customers of a VPN change countries too, but on devices that have paid for months.
rule many_countries_one_day {
    description "An account is used from three or more countries within a day, now from a device it hardly knows: shared credentials or a rented network of proxies."
    when metadata.ip_country != ""
        and metadata.device_id != ""
        and not (metadata.travel_notice == true)
        and count(when source == $current.source
                       and metadata.device_id == $current.metadata.device_id
                       and stage == "settled", "P90D") <= 5
        and distinct(metadata.ip_country when source == $current.source
                                              and metadata.ip_country != $current.metadata.ip_country, "P1D") >= 2
    then review
        score 0.7
        reason "Third country within a day. End all sessions and have the customer sign in again."
}
