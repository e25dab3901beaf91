rule shipped_to_high_risk_country {
    description "Goods billed in one country and shipped to another with high risk: fraudsters have them forwarded."
    when ((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
          or (currency == "JPY" and amount > 5000)
          or (currency == "KWD" and amount > 15)
          or (currency == "NGN" and amount > 20000))
        and metadata.order.shipping_country in $high_risk_countries
        and metadata.order.shipping_country != metadata.order.billing_country
    then review
        score 0.4
        reason "Goods go to a high-risk country. Confirm the order with the buyer before shipping."
}
