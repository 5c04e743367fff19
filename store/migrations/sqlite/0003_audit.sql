-- What happened in sandboxes. Numbers are never given twice. upto is the sum of the sizes
-- of all rows ever written, this one included, so that the oldest rows over a limit of
-- bytes are found without adding up.
CREATE TABLE audit (
  id     INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  owner  TEXT NOT NULL DEFAULT 'default',
  thread TEXT NOT NULL,
  kind   TEXT NOT NULL,
  upto   INTEGER NOT NULL,
  body   TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_thread ON audit (thread, id);
CREATE INDEX audit_by_owner ON audit (owner, id);
