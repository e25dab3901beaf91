rule R {
  when conut(when amount > 1, "PT1H") > 5 and COUNT(when amount > 1, "PT1H") > 5 and lower(currency) == "usd"
  then review
}
