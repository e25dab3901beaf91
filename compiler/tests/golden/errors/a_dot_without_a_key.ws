rule R {
  when metadata. == 5 and metadata.5 == 1 and $current.metadata. == 2
  then review
}
