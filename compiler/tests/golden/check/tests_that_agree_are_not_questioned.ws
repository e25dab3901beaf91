rule R {
  when amount > 5 and amount < 10 and amount != 7 and (source == "a" or source == "b") and currency != "USD" and currency != "EUR"
  then review
}
