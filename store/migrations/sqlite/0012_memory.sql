-- What is remembered about an owner across threads: summaries, which all agents share, and facts,
-- which belong to one agent, the lead agent's being ''. revision counts the changes. Keys of a
-- document that have no column are kept in extra.
CREATE TABLE memory (
  owner      TEXT NOT NULL PRIMARY KEY,
  revision   INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  body       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fact (
  n          INTEGER PRIMARY KEY,
  owner      TEXT NOT NULL,
  agent      TEXT NOT NULL,
  id         TEXT NOT NULL,
  content    TEXT NOT NULL,
  category   TEXT NOT NULL,
  confidence REAL NOT NULL,
  source     TEXT NOT NULL,
  message    TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  extra      TEXT NOT NULL,
  UNIQUE (owner, agent, id)
) STRICT;
