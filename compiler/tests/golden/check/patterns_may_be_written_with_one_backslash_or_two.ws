rule R {
  when reference regex "^\d{4}$" and reference regex "^\\d{4}$" and description not_regex "(?i)gift ?card"
  then review
}
