rule R {
  when sum(currency when amount > 1, "PT1H") > 5 and max(timestamp when amount > 1, "PT1H") > 5 and distinct(currency when amount > 1, "PT1H") > 5
  then review
}
