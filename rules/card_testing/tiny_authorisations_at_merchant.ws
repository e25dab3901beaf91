rule tiny_authorisations_at_merchant {
    description "Ten or more authorisations below 2.00 at one merchant within five minutes, most of them declined: its checkout is a testing ground."
    when amount < 2
        and count(when metadata.merchant_id == $current.metadata.merchant_id and amount < 2, "PT5M") >= 9
        and count(when metadata.merchant_id == $current.metadata.merchant_id and amount < 2
                   and status == "declined", "PT5M")
          / count(when metadata.merchant_id == $current.metadata.merchant_id and amount < 2, "PT5M") > 0.6
    then alert
        score 0.7
        reason "The merchant's checkout is used to test cards. Ask the merchant to switch on a challenge."
}
