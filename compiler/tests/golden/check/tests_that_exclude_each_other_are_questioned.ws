rule R {
  when (amount > 10 and amount < 5) or (currency == "USD" and currency == "EUR") or (amount between 20 and 10) or (source == "a" and source != "a") or (5 > amount and amount >= 5) or (inflight == true and inflight == false)
  then review
}
