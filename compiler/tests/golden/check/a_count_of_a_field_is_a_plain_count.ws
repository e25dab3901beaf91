rule R {
  when count(destination when source == $current.source, "P1D") > 3
  then review
}
