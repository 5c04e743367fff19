-- setting is what people change in the pages and through the API, for databases that several servers have; one that
-- is alone keeps that in files. Its version counts the changes; body is NULL for one that was deleted. Rows of version
-- 0 are pieces of what is too large for one row, which others name by their hash.
CREATE TABLE setting (
    name    TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    body    BLOB
) STRICT;
