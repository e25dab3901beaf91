rule R {
  when amount between 10 and metadata.limit + 5
  then review
}
