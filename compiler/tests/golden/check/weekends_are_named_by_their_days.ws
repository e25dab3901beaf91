rule R {
  when day_of_week(timestamp) in ("saturday", "SUNDAY") or day_of_week(created_at) == "Monday" or "Friday" != day_of_week(effective_date) or day_of_week(timestamp) not_in ("Tuesday")
  then review
}
