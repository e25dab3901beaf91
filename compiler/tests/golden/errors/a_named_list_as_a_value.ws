rule R {
  when source == $blocked and $limit > 5
  then review
}
