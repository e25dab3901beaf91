rule R {
  when amount > 2 * (3 + 4) - 10 / 4 and amount != -(-5) and amount < "10" * 2
  then review
}
