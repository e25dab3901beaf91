rule R {
  when (currency != "USD" or currency != "EUR") and (amount > 5 or amount <= 5) and (source == "a" or source != "a") and (metadata.x > 5 or metadata.x <= 5)
  then review
}
