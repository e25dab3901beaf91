rule R {
  when timestamp >= "2026-01-01T00:00:00Z" and timestamp < effective_date and metadata.signed_up < timestamp
  then review
}
