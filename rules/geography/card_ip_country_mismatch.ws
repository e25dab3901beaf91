// A refund goes to the card that paid, wherever the shop's address is.
rule card_ip_country_mismatch {
    description "The card is from one country, the buyer's address from another, its holder did not confirm, and the risk score or the amount is high."
    when metadata.card_country != metadata.ip_country
        and (metadata.risk_score > 65
             or ((currency not_in ("JPY", "KWD", "NGN") and amount > 300)
                 or (currency == "JPY" and amount > 30000)
                 or (currency == "KWD" and amount > 90)
                 or (currency == "NGN" and amount > 120000)))
        and not (metadata.type in ("refund", "chargeback"))
        and not (metadata.travel_notice == true)
        and not (metadata.three_ds == "passed")
    then review
        score 0.6
        reason "Card and buyer in different countries. Ask the issuer or the customer whether they travel."
}
