// Five sales to four cards are asked for: one family with a full trolley does not change a business. The declared ticket
// is in the merchant's currency; the floor leaves small sales in another one alone.
rule ticket_over_declared {
    description "The average sale of two days is more than three times what the merchant declared: it sells something else now."
    when metadata.declared_average_ticket > 0
        and metadata.type == "sale"
        and ((currency not_in ("JPY", "KWD", "NGN") and amount > 50)
             or (currency == "JPY" and amount > 5000)
             or (currency == "KWD" and amount > 15)
             or (currency == "NGN" and amount > 20000))
        and amount > 3 * metadata.declared_average_ticket
        and count(when metadata.merchant_id == $current.metadata.merchant_id
                       and metadata.type == "sale"
                       and currency == $current.currency, "P2D") >= 5
        and distinct(metadata.card_fingerprint when metadata.merchant_id == $current.metadata.merchant_id
                                               and metadata.type == "sale"
                                               and currency == $current.currency, "P2D") >= 4
        and avg(amount where metadata.merchant_id == $current.metadata.merchant_id
                             and metadata.type == "sale"
                             and currency == $current.currency, "P2D") > 3 * metadata.declared_average_ticket
    then review
        score 0.6
        reason "Sales far above the declared ticket. Visit the shop's site and compare with the application."
}
