"a \"quoted\" b" "back\\slash" "\d+\." "line
break" 'it\'s' '"' "'"
