rule R {
  description "a"
  description "b"
  when amount > 5
  when amount > 6
  then review
}
