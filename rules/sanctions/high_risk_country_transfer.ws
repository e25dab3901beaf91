// Countries come as codes in a field of their own; a country's name in a description proves nothing and is not read.
rule high_risk_country_transfer {
    description "A transfer to or from a country on the high-risk list without the enhanced checks that are due before it moves."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 150)
          or (currency == "JPY" and amount > 15000)
          or (currency == "KWD" and amount > 45)
          or (currency == "NGN" and amount > 60000))
        and (metadata.counterparty_country in $high_risk_countries
             or metadata.originator_country in $high_risk_countries)
        and not (metadata.enhanced_checks_done == true)
    then review
        score 0.6
        reason "A party is in a high-risk country. Collect purpose and documents before release."
}
