rule R {
  when amount > 5 and source == description.x and amount > in
  then review
}
