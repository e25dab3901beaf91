rule R {
  when currency in () and source not_in ( )
  then review
}
