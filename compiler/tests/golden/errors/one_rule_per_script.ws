rule A { when amount > 5 then review }
rule B { when amount > 5 then block }
