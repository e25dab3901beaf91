rule R {
  when currency == EUR or source == destinaton or amount between low and 5
  then review
}
