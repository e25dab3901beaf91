rule R {
  when amount > 5
  then review reason "too much
}
