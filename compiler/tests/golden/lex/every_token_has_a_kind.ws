rule description when then and or not in not_in regex not_regex true false
name 5 0.5 "text" 'single' { } ( ) , : . $ + - * / == != < <= > >=
