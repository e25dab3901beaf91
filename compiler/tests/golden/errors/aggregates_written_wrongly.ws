rule R {
  when count() > 1 and count(when source == "a") > 1 and count("PT1H", when source == "a") > 1 and sum(amount, "PT1H") > 1 and sum(amount source == "a", "PT1H") > 1
  then review
}
