rule shipped_to_high_risk_country {
    description "Goods that sell on easily, billed in one country and shipped to another with high risk: fraudsters have them forwarded."
    when amount > 150
        and metadata.order.goods in ("electronics", "gift_card", "jewellery", "phone")
        and metadata.order.shipping_country in $high_risk_countries
        and metadata.order.shipping_country != metadata.order.billing_country
    then alert
        score 0.4
        reason "Resaleable goods go to a high-risk country. Confirm the order with the buyer before shipping."
}
