rule Velocity {
  when count(when source == $current.source, "PT1H") > 5
  then block score 0.9 reason "Too many payments"
}
