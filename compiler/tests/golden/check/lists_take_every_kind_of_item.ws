rule R {
  when metadata.x in ('a', "b", 1, -2.5, true, false, $current.source) and source not_in $blocked.accounts
  then review
}
