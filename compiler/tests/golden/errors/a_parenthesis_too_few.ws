rule R {
  when (amount > 5 and (source == "a" or currency == "USD")
  then review
}
