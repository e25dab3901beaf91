rule R {
  when (amount > 1 and amount > 2) and ((amount > 3 and amount > 4) and amount > 5) or (inflight == true or (atomic == true or skip_queue == true))
  then review
}
