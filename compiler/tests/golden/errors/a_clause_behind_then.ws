rule R {
  then review
  when amount > 5
  description "late"
}
