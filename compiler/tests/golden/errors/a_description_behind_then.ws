rule R {
  when amount > 5
  then review score 0.5
  description "late"
}
