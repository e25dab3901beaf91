rule card_ip_country_mismatch {
    description "The card is from one country, the buyer's address from another, and the risk score or the amount is high."
    when metadata.card_country != metadata.ip_country
        and (metadata.risk_score > 65 or amount > 300)
        and not (metadata.travel_notice == true)
    then review
        score 0.6
        reason "Card and buyer in different countries. Ask the issuer or the customer whether they travel."
}
