rule R {
  when 1 == 1 and "a" != "b" and 2 + 3 > 4 and "a" in ("a", "b") and "abc" regex "b" and 5 between 1 and 10 and true == false
  then review
}
