rule R {
  when a regex "^x\d+$" and b not_regex 'y'
  then review
}
