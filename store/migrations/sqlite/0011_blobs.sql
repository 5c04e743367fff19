-- Large base64 in messages, fields and what runs were asked, stored once for each thread. The
-- rows have its hash in its place; blob_use says which do: name is a field's name or a run's id,
-- n the number of a message or the version of a field. Older rows have theirs still inside.
CREATE TABLE blob (
  thread TEXT NOT NULL,
  hash   BLOB NOT NULL,              -- SHA-256 of data
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, hash)
) STRICT;
CREATE TABLE blob_use (
  thread TEXT NOT NULL,
  kind   TEXT NOT NULL,              -- 'message', 'field' or 'run'
  name   TEXT NOT NULL,
  n      INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  PRIMARY KEY (thread, kind, name, n, hash)
) STRICT, WITHOUT ROWID;
