rule ticket_over_declared {
    description "The average sale of the last day is more than three times what the merchant declared: it sells something else now."
    when metadata.declared_average_ticket > 0
        and metadata.type == "sale"
        and amount > 3 * metadata.declared_average_ticket
        and count(when metadata.merchant_id == $current.metadata.merchant_id and metadata.type == "sale", "P1D") >= 5
        and avg(amount where metadata.merchant_id == $current.metadata.merchant_id and metadata.type == "sale", "P1D")
          > 3 * metadata.declared_average_ticket
    then alert
        score 0.6
        reason "Sales far above the declared ticket. Visit the shop's site and compare with the application."
}
