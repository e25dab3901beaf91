rule R {
  when amount > 5 and source == "a" and amount > 5 and (currency == "USD" or currency == "USD")
  then review
}
