rule R {
  when transaction_id == "a" and reference == "a" and description == "a" and status == "a" and hash == "a" and allow_overdraft == true and inflight == false and skip_queue == true and atomic == true and effective_date > timestamp and scheduled_for > timestamp and inflight_expiry_date < timestamp
  then review
}
