rule R {
  when a + b * c - d / 2 > -1 + 2
  then review
}
