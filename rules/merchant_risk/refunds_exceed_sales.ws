rule refunds_exceed_sales {
    description "A merchant refunds more within a day than it sold within the week: its balance, or its terminal, is being emptied."
    when metadata.type == "refund"
        and metadata.merchant_id != ""
        and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                          and metadata.type == "refund", "P1D") > 500
        and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                          and metadata.type == "refund", "P1D")
          > sum(when metadata.merchant_id == $current.metadata.merchant_id and metadata.type == "sale", "P7D")
    then block
        score 0.85
        reason "Refunds exceed sales. Stop refunds at this merchant and call the owner; the terminal may be stolen."
}
