rule R {
  when amount != "much" and amount == amount and inflight != "yes" and description regex "" and amount not_in ("a")
  then review
}
