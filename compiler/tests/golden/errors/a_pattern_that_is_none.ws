rule R {
  when description regex gift and description not_regex 5
  then review
}
