rule R {
  when amount > and source == "a" or == 5
  then review
}
