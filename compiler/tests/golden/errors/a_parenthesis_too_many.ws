rule R {
  when (amount > 5)) and source == "a"
  then review
}
