rule Golden {
    when timestamp > "2026-01-01T00:00:00Z" and effective_date <= timestamp
    then review score 0.5 reason "golden"
}
