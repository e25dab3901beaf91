rule R {
  when amount between 5 or amount between (1, 5)
  then review
}
