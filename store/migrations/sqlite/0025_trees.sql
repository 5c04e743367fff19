-- Versions of the files of threads whose contents are objects in another store. A version is what changed since
-- its parent, or all there is; each parent has one child, so two servers cannot both make the next one.
CREATE TABLE tree (
  thread  TEXT NOT NULL,
  version INTEGER NOT NULL,          -- greater than its parent's, and than that of every other thread before it
  parent  INTEGER NOT NULL,          -- 0 for the first
  whole   INTEGER NOT NULL,          -- 1 when body is all there is
  body    BLOB NOT NULL,
  PRIMARY KEY (thread, version),
  UNIQUE (thread, parent)
) STRICT, WITHOUT ROWID;
-- Names are never given twice. A row is there before the object is, and until after it.
CREATE TABLE object (
  name TEXT NOT NULL PRIMARY KEY,
  at   INTEGER NOT NULL,             -- when it was stored or came to be used again
  gone INTEGER NOT NULL DEFAULT 0    -- 1 while it is being removed
) STRICT, WITHOUT ROWID;
CREATE INDEX object_at ON object(at);
CREATE TABLE object_use (
  object  TEXT NOT NULL,
  thread  TEXT NOT NULL,
  version INTEGER NOT NULL,          -- of the tree whose body names it
  PRIMARY KEY (object, thread, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_use_thread ON object_use(thread, version);
