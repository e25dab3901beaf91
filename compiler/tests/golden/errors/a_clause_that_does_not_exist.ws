rule R {
  priority 5
  when amount > 5
  then review
}
