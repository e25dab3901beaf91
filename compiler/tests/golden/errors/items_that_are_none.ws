rule R {
  when currency in (USD, "EUR", , 5 + 3, $blocked, -"x") and source == 5
  then review
}
