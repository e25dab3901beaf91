rule R {
	description "d"
	when amount > 5
	then review
}
