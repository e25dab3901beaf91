rule R {
  when metadata.a > metadata.b / (1 - 1)
  then review
}
