rule R {
  when amount > 1e3 and amount > 1_000 and amount > 5. and amount > 0x1F and amount > 1.2.3 and amount > 5EUR
  then review
}
