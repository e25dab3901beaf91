rule R {
  when currency in "USD" and currency in and source not_in 5 and source in metadata.list
  then review
}
