rule HighValue {
  description "Large payments in dollars"
  when amount > 10000 and currency == "USD"
  then review score 0.7 reason "Amount exceeds the threshold"
}
