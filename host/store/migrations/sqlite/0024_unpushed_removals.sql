-- Rules of the repository that were removed over the API under a policy, while the remote still has their file. They are not in force
-- until the removal is pushed, the rule is released, or the file changes at the remote.
CREATE TABLE unpushed_removals (
    path        TEXT PRIMARY KEY,
    instruction INTEGER NOT NULL,
    name        TEXT NOT NULL,
    -- Whether the file is a module; otherwise it is a script.
    is_module   INTEGER NOT NULL,
    content     BLOB NOT NULL
) STRICT;
