rule R {
  when currency not in ("USD", "EUR") and description not regex "x"
  then review
}
