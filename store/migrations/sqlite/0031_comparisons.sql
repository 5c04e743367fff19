-- Questions that several models answered side by side, and which answer was preferred.
CREATE TABLE comparison (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL,
  chosen     TEXT NOT NULL,          -- the thread that was preferred, '' for none yet
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX comparison_by_owner ON comparison (owner);
CREATE TABLE comparison_side (
  comparison TEXT NOT NULL,
  place      INTEGER NOT NULL,       -- from 0
  thread     TEXT NOT NULL,
  model      TEXT NOT NULL,
  PRIMARY KEY (comparison, place)
) STRICT, WITHOUT ROWID;
