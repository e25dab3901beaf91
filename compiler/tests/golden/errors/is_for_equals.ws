rule R {
  when currency is "USD"
  then review
}
