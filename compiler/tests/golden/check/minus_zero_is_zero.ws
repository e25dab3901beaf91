rule R {
  when amount != -0 and metadata.x in (-0, -1.5)
  then review
}
