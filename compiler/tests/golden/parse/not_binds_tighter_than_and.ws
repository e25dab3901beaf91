rule R {
  when not a == 1 and not (b == 2 or c == 3)
  then review
}
