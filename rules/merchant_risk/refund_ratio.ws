// The refund under evaluation counts. Fewer than 20 sales say nothing about a merchant.
rule refund_ratio {
    description "Refunds exceed 15 percent of a merchant's sales over 30 days: poor goods, or refunds used to move money to other cards."
    when metadata.type == "refund"
        and count(when metadata.merchant_id == $current.metadata.merchant_id
                   and metadata.type == "sale", "P30D") >= 20
        and (count(when metadata.merchant_id == $current.metadata.merchant_id
                    and metadata.type == "refund", "P30D") + 1)
          / count(when metadata.merchant_id == $current.metadata.merchant_id
                   and metadata.type == "sale", "P30D") > 0.15
    then alert
        score 0.5
        reason "Refunds out of proportion. Sample ten of them: same card as the sale, same amount, plausible reason?"
}
