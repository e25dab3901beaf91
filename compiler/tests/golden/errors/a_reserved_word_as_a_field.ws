rule R {
  when rule == 5 and when == 5
  then review
}
