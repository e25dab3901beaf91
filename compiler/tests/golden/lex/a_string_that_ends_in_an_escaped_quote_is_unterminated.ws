"abc\"
