-- additive
-- Versions of the files of threads whose contents are objects in another store. A version is what changed since
-- its parent, or all there is; each parent has one child, so two servers cannot both make the next one.
CREATE TABLE tree (
  thread  text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  parent  bigint NOT NULL,
  whole   bigint NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (thread, version),
  UNIQUE (thread, parent)
);
-- Names are never given twice. A row is there before the object is, and until after it.
CREATE TABLE object (
  name text COLLATE "C" PRIMARY KEY,
  at   bigint NOT NULL,
  gone bigint NOT NULL DEFAULT 0
);
CREATE INDEX object_at ON object (at);
CREATE TABLE object_use (
  object  text COLLATE "C" NOT NULL,
  thread  text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (object, thread, version)
);
CREATE INDEX object_use_thread ON object_use (thread, version);
