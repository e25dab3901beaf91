rule R {
  when source in $ and amount > $5
  then review
}
