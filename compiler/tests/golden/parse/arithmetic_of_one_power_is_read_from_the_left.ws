rule R {
  when a - b - c > 0 and a / b / c > 0
  then review
}
