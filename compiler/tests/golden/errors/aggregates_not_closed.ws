rule R {
  when count(when source == "a", "PT1H" > 5
  then review
}
