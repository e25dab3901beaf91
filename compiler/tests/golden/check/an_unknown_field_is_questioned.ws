rule R {
  when amoutn > 5 or kyc_level == 3 or amount.value > 5 or card.country == "DE" or not (Amount > 5)
  then review
}
