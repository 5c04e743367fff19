-- A deleted thread keeps its owner. deleted_at is when it went to the trash, 0 for threads
-- that are not there. Until now such a thread had an owner that begins with 'bin:'.
ALTER TABLE thread ADD COLUMN deleted_at INTEGER NOT NULL DEFAULT 0;
UPDATE thread SET owner = substr(owner, 5), deleted_at = max(updated_at, 1) WHERE owner >= 'bin:' AND owner < 'bin;';
UPDATE audit SET owner = substr(owner, 5) WHERE owner >= 'bin:' AND owner < 'bin;';
UPDATE spending SET owner = substr(owner, 5) WHERE owner >= 'bin:' AND owner < 'bin;';

-- Lists are of what is not deleted.
DROP INDEX thread_by_updated;
DROP INDEX thread_by_created;
DROP INDEX thread_by_pinned;
CREATE INDEX thread_by_updated ON thread (owner, updated_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_by_created ON thread (owner, created_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_by_pinned ON thread (owner, pinned, updated_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_deleted ON thread (deleted_at, owner) WHERE deleted_at > 0;

-- Two owners may use the same key. The owner of what the server keeps for itself or for
-- everybody is ''.
ALTER TABLE kv RENAME TO kv_before;
CREATE TABLE kv (
  owner TEXT NOT NULL,
  space TEXT NOT NULL,
  key   TEXT NOT NULL,
  body  BLOB NOT NULL,
  PRIMARY KEY (owner, space, key)
) STRICT;
INSERT INTO kv(owner, space, key, body)
  SELECT CASE WHEN space IN ('egress_decision', 'egress_question', 'removed_files', 'stateless', 'webhook') OR substr(space, 1, 7) = 'thread_'
    THEN '' ELSE owner END, space, key, body FROM kv_before;
DROP TABLE kv_before;
