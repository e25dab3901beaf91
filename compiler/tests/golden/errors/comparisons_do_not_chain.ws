rule R {
  when 5 < amount < 10 and (1 == 1) == true
  then review
}
