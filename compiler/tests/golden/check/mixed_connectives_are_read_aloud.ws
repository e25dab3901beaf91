rule R {
  when amount > 5 or currency == "USD" and source == "a" or inflight == true and atomic == true
  then review
}
