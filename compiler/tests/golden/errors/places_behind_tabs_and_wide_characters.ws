rule R {
	when description == "日本" and § > 5
	then review
}
