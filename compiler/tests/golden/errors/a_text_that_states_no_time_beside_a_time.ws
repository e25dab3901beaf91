rule R {
  when timestamp > "yesterday" and effective_date == "31.01.2026" and scheduled_for != "soon"
    and inflight_expiry_date <= "2026-01-31" and created_at >= "2026-01-31T10:15"
  then review
}
