rule R {
  when amount > 5 source == "a" currency == "USD" and inflight = true
  then review
}
