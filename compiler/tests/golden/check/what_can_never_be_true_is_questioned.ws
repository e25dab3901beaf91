rule R {
  when amount == "much" or source > "a" or inflight == 1 or timestamp > 5 or timestamp > "noon" or currency >= "USD" or inflight > false or amount in ("a", true) or amount > 5 / 0 or timestamp + 1 > 5 or metadata == "x" or hour_of_day(amount) > 5 or -inflight == 1
  then review
}
