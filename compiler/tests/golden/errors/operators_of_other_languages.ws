rule R {
  when amount = 5 && source <> "a" || !(inflight === true) and currency in ["USD", "EUR"];
  then review
}
