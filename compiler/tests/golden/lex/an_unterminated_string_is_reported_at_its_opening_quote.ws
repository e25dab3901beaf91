a "b" "c
d }
