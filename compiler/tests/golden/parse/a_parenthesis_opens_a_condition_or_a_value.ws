rule R {
  when (amount > 5) and (amount + 1) * 2 > 10 and ((source == "a"))
  then review
}
