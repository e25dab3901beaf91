a // b c
# d "e"
f # g // h
"// no comment" "# nor this" // last