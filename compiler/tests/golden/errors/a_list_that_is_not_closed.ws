rule R {
  when currency in ("USD", "EUR" and source == "a"
  then review
}
