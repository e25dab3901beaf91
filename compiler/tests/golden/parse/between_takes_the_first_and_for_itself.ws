rule R {
  when amount between 10 and 20 and source == "a"
  then review
}
