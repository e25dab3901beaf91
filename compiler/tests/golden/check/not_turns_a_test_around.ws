rule R {
  when not amount > 5 and not (source == "a" or source == "b") and not not inflight == true
  then review
}
