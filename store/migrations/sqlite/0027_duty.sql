-- duty is what one of several servers does for all. SQLite has one server, which has none to take.
CREATE TABLE duty (
    name TEXT NOT NULL PRIMARY KEY,
    node INTEGER NOT NULL
) STRICT;
