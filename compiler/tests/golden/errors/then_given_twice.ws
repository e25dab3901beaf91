rule R {
  when amount > 5
  then review
  then block
}
