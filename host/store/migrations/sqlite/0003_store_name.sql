-- A random name, given once: what is kept elsewhere about this store can tell it from every other.
CREATE TABLE store_name (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    name BLOB    NOT NULL CHECK (length(name) = 16)
) STRICT;
INSERT INTO store_name (one, name) VALUES (1, randomblob(16));
