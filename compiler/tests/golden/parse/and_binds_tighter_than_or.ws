rule R {
  when a == 1 or b == 2 and c == 3 or d == 4
  then review
}
