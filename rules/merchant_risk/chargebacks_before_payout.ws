// Three disputes are asked for: one unlucky sale must not hold the payout of a small shop. The share is written as a
// product: a merchant with disputes and no sales left would make a division by zero, which is no answer and no hold.
rule chargebacks_before_payout {
    description "A payout to a merchant with chargebacks above one percent of sales in 60 days: disputes still to come need cover."
    when metadata.type == "payout"
        and count(when metadata.merchant_id == $current.metadata.merchant_id
                   and metadata.type == "chargeback", "P60D") >= 3
        and count(when metadata.merchant_id == $current.metadata.merchant_id and metadata.type == "chargeback", "P60D")
          > 0.01 * count(when metadata.merchant_id == $current.metadata.merchant_id and metadata.type == "sale", "P60D")
    then review
        score 0.9
        reason "Chargebacks above one percent. Keep the payout as a reserve and ask the merchant for delivery records."
}
