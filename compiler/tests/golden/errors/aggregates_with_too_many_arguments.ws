rule R {
  when count(when source == "a", "PT1H", "P1D") > 5
  then review
}
