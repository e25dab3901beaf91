rule R {
  when distinct(when source == $current.source, "PT1H") > 3
  then review
}
