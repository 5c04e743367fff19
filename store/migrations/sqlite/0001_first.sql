-- Times are milliseconds since 1970 UTC. JSON columns hold text, bodies hold blobs in exactly the form the API shows.

CREATE TABLE thread (
  id               TEXT PRIMARY KEY NOT NULL,
  owner            TEXT NOT NULL DEFAULT 'default',
  status           TEXT NOT NULL,
  title            TEXT NOT NULL,
  metadata         TEXT NOT NULL,
  config           TEXT NOT NULL,
  head             TEXT NOT NULL,              -- checkpoint id of the root namespace, '' before the first
  seq              INTEGER NOT NULL DEFAULT 0, -- greatest event number ever folded; never goes down
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  state_updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX thread_by_updated ON thread (owner, updated_at, id);
CREATE INDEX thread_by_created ON thread (owner, created_at, id);

-- message, field and event keep their rowid: their rows are mostly 1 to 8 KB, which
-- a table without rowid would move to overflow pages of their own, at half as much
-- disk again; and new rows of all threads go to the end of the file.

CREATE TABLE message (
  thread TEXT NOT NULL,
  n      INTEGER NOT NULL,
  id     TEXT NOT NULL,
  body   BLOB NOT NULL,
  PRIMARY KEY (thread, n)
) STRICT;

CREATE TABLE field (
  thread  TEXT NOT NULL,
  name    TEXT NOT NULL,
  version INTEGER NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (thread, name, version)
) STRICT;

CREATE TABLE checkpoint (
  thread TEXT NOT NULL,
  ns     TEXT NOT NULL,
  id     TEXT NOT NULL,
  parent TEXT NOT NULL,
  run    TEXT NOT NULL,
  step   INTEGER NOT NULL,
  source TEXT NOT NULL,
  next   TEXT NOT NULL,
  meta   TEXT NOT NULL,
  card   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (thread, ns, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
  id              TEXT PRIMARY KEY NOT NULL,
  thread          TEXT NOT NULL,
  assistant       TEXT NOT NULL,
  owner           TEXT NOT NULL DEFAULT 'default',
  status          TEXT NOT NULL,
  multitask       TEXT NOT NULL,
  stop_reason     TEXT NOT NULL,
  error           TEXT NOT NULL,
  base_checkpoint TEXT NOT NULL,
  metadata        TEXT NOT NULL,
  kwargs          TEXT NOT NULL,
  usage           TEXT NOT NULL,
  first_seq       INTEGER NOT NULL,
  last_seq        INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_thread ON run (thread, created_at, id);
CREATE INDEX run_open ON run (created_at, id) WHERE status IN ('pending', 'running');

CREATE TABLE tail (
  id   INTEGER PRIMARY KEY NOT NULL,
  data BLOB NOT NULL
) STRICT;

-- A row covers the numbers seq..to. The key is the end, because readers ask for
-- everything that ends after their cursor, and a long row may enclose short ones.
CREATE TABLE event (
  thread TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  "to"   INTEGER NOT NULL,
  run    TEXT NOT NULL,
  kind   TEXT NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, "to")
) STRICT;

CREATE TABLE kv (
  space TEXT NOT NULL,
  key   TEXT NOT NULL,
  owner TEXT NOT NULL DEFAULT 'default',
  body  BLOB NOT NULL,
  PRIMARY KEY (space, key)
) STRICT;
