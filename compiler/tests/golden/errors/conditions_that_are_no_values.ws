rule R {
  when (amount > 5) == true and (amount > 5) + 1 > 2 and not (amount > 5) == false and amount > (source == "a")
  then review
}
