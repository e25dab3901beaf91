// Clothes that are sent back to a small shop in a quiet week are ordinary tickets. The declared ticket is in the
// merchant's currency; the floor leaves small refunds in another one alone.
rule refunds_exceed_sales {
    description "A refund of many times the declared ticket, or large refunds within a day that exceed the sales of the week: a balance, or a terminal, is being emptied."
    when metadata.type == "refund"
        and metadata.merchant_id != ""
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
             or (currency == "JPY" and amount > 5000)
             or (currency == "KWD" and amount > 15)
             or (currency == "NGN" and amount > 20000))
        and amount > 4 * metadata.declared_average_ticket
        and (amount > 10 * metadata.declared_average_ticket
             or amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                                  and metadata.type == "refund"
                                  and currency == $current.currency, "P1D")
               > sum(when metadata.merchant_id == $current.metadata.merchant_id
                          and metadata.type == "sale"
                          and currency == $current.currency, "P7D"))
    then review
        score 0.85
        reason "Refunds exceed sales. Stop refunds at this merchant and call the owner; the terminal may be stolen."
}
