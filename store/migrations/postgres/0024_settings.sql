-- additive
-- setting is what people change in the pages and through the API, for databases that several servers have. Its
-- version counts the changes; body is NULL for one that was deleted. Rows of version 0 are pieces of what is too large
-- for one row, which others name by their hash.
CREATE TABLE setting (
    name    text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    body    bytea
);
