rule R {
  when amount > 5 § and source == “a” and größe > 5
  then review
}
