rule R {
  when source == $current and source == "$current" and source in $current
  then review
}
