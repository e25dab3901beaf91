rule R {
  when amount and inflight and count(when amount > 1, "PT1H") and hour_of_day(timestamp) and true and "x" and amount + 1
  then review
}
