rule R {
  when description contains "gift"
  then review
}
