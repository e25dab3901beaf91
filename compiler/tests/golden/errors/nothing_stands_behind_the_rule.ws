rule A { when amount > 5 then review } }
