// nothing
# at all
