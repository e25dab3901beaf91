rule R {
  when amount + "EUR" > 5 and -true == 1 and source + "x" == "ax" and "5" + amount > 6
  then review
}
