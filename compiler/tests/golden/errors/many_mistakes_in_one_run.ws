rule R {
  description unquoted
  when amount > 5 and curency == USD
    and count(when source == $current.source, "1 hour") > 3
    and description regex "(?!x)"
  then maybe score 1.5 reason none
}
