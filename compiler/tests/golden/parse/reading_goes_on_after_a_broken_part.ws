rule R {
  when amount > and source == "a" and (currency) x y and count(when, "PT1H") > 5 or status ==
  then review
}
