// November and December belong to the trade; a spike then is a season. The baseline is the 29 days before the last one,
// with ten sales at least: a first day on board has nothing to compare with. Sales in other currencies are left out.
rule young_merchant_volume_spike {
    description "A merchant on board for less than 90 days sells five times its daily mean within a day: the harvest day of a long fraud."
    when metadata.merchant_age_days < 90
        and metadata.type == "sale"
        and month_of_year(timestamp) not_in (11, 12)
        and count(when metadata.merchant_id == $current.metadata.merchant_id
                       and metadata.type == "sale"
                       and currency == $current.currency, "P30D")
          - count(when metadata.merchant_id == $current.metadata.merchant_id
                       and metadata.type == "sale"
                       and currency == $current.currency, "P1D") >= 10
        and ((currency not_in ("JPY", "KWD", "NGN")
              and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                                    and metadata.type == "sale"
                                    and currency == $current.currency, "P1D") > 2000)
             or (currency == "JPY"
                 and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                                       and metadata.type == "sale"
                                       and currency == $current.currency, "P1D") > 200000)
             or (currency == "KWD"
                 and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                                       and metadata.type == "sale"
                                       and currency == $current.currency, "P1D") > 600)
             or (currency == "NGN"
                 and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                                       and metadata.type == "sale"
                                       and currency == $current.currency, "P1D") > 800000))
        and amount + sum(when metadata.merchant_id == $current.metadata.merchant_id
                              and metadata.type == "sale"
                              and currency == $current.currency, "P1D")
          > 5 * (sum(when metadata.merchant_id == $current.metadata.merchant_id
                          and metadata.type == "sale"
                          and currency == $current.currency, "P30D")
               - sum(when metadata.merchant_id == $current.metadata.merchant_id
                          and metadata.type == "sale"
                          and currency == $current.currency, "P1D")) / 29
    then review
        score 0.8
        reason "Sudden volume at a young merchant. Ask what is sold, and delay the next payout until goods have shipped."
}
