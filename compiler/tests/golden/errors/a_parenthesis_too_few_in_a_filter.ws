rule R {
  when count(when (source == $current.source, "PT1H") > 5
  then review
}
