rule Golden {
    when reference regex "^[A-Z]+-\d+$" and metadata.note not_regex "(?i)refund" and amount / 4 regex "^25"
    then review score 0.5 reason "golden"
}
