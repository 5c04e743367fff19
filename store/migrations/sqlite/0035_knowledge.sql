-- A collection of documents that projects and agents refer to. version counts changes of its vectors.
CREATE TABLE knowledge (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  name       TEXT NOT NULL,
  about      TEXT NOT NULL,
  version    INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_by_owner ON knowledge (owner, id);

-- Who else may use it. Its owner has no row.
CREATE TABLE knowledge_member (
  knowledge TEXT NOT NULL,
  member    TEXT NOT NULL,               -- the id of an account, or group:ID
  role      TEXT NOT NULL,               -- 'viewer' or 'editor'
  PRIMARY KEY (knowledge, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_member_by_member ON knowledge_member (member, knowledge);

-- Where the documents of a collection come from. It is read when next_at has come, 0 for never. asked counts the times
-- that somebody wanted it read, so that a wish which comes meanwhile isn't lost.
CREATE TABLE knowledge_source (
  id         TEXT PRIMARY KEY NOT NULL,
  knowledge  TEXT NOT NULL,
  kind       TEXT NOT NULL,              -- upload, folder, web or git
  address    TEXT NOT NULL,
  every      INTEGER NOT NULL,           -- seconds, 0 for when it is asked for only
  state      TEXT NOT NULL,              -- pending, ready or failed
  problem    TEXT NOT NULL,
  stamp      TEXT NOT NULL,              -- of what it was when it was read
  asked      INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  total      INTEGER NOT NULL,
  skipped    INTEGER NOT NULL,           -- files that are no documents
  checked_at INTEGER NOT NULL,
  next_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_source_of ON knowledge_source (knowledge, id);
CREATE INDEX knowledge_source_due ON knowledge_source (next_at) WHERE next_at > 0;

-- The documents. Their passages are in the index under the name of their number.
CREATE TABLE knowledge_doc (
  id         INTEGER PRIMARY KEY,
  knowledge  TEXT NOT NULL,
  source     TEXT NOT NULL,
  name       TEXT NOT NULL,
  title      TEXT NOT NULL,
  address    TEXT NOT NULL,
  stamp      TEXT NOT NULL,
  hash       TEXT NOT NULL,
  state      TEXT NOT NULL,              -- pending, converted, partial or failed
  reason     TEXT NOT NULL,
  tries      INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,           -- of its text
  updated_at INTEGER NOT NULL,
  UNIQUE (source, name)
) STRICT;
CREATE INDEX knowledge_doc_of ON knowledge_doc (knowledge, name, id);
CREATE TABLE knowledge_text (
  doc  INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;

-- What an embedding model makes of passages: numbers from -127 to 127.
CREATE TABLE knowledge_vector (
  passage   INTEGER PRIMARY KEY,
  knowledge TEXT NOT NULL,
  model     TEXT NOT NULL,
  vector    BLOB NOT NULL
) STRICT;
CREATE INDEX knowledge_vector_of ON knowledge_vector (knowledge, model);
