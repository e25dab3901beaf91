rule R {
  when amount > 5 or (currency == "USD" and source == "a")
  then review
}
