rule R {
  when count(when amount > 1, "1h") > 1 and count(when amount > 1, "P1W") > 1 and count(when amount > 1, "pt1h") > 1 and count(when amount > 1, "PT0S") > 1 and count(when amount > 1, "P1Y") > 1 and count(when amount > 1, "P401D") > 1 and count(when amount > 1, 3600) > 1 and previous_transaction(within: "P1M", match: { source: "a" })
  then review
}
