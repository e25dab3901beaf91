// Countries stand in for distance. Neighbours with open borders are listed: both ends have to be among them.
rule card_present_in_two_countries {
    description "A card is present in two countries within an hour: one of the two is a copy."
    when metadata.card_present == true
        and metadata.terminal_country != ""
        and count(when metadata.card_fingerprint == $current.metadata.card_fingerprint
                   and metadata.card_present == true
                   and metadata.terminal_country != $current.metadata.terminal_country
                   and not (metadata.terminal_country in $open_border_countries
                            and $current.metadata.terminal_country in $open_border_countries), "PT1H") >= 1
    then review
        score 0.75
        reason "The card cannot have travelled that fast. Block it and ask the holder which payment is theirs."
}
