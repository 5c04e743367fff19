-- duty is what one of several servers does for all, as long as its row in node is there.
CREATE TABLE duty (
    name text COLLATE "C" PRIMARY KEY,
    node bigint NOT NULL
);
