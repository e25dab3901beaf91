rule R {
  when currency == "USD
  then review
}
