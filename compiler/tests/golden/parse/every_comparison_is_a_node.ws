rule R {
  when a == 1 and a != 1 and a < 1 and a <= 1 and a > 1 and a >= 1
  then review
}
