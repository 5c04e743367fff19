-- A link under which everybody who has it can read a thread as it was at a checkpoint.
CREATE TABLE share (
  thread     TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  token      TEXT NOT NULL UNIQUE,
  checkpoint TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
