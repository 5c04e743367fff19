-- cluster is 1 for a node that lets others have the database at the same time.
ALTER TABLE node ADD COLUMN cluster bigint NOT NULL DEFAULT 0;

-- hold is the node that writes to a thread outside of a run. As long as that lives, no run of the thread begins.
-- 0 for none.
ALTER TABLE thread ADD COLUMN hold bigint NOT NULL DEFAULT 0;

-- For claims, which look for runs by their age over all threads, and for wishes. Neither has a column that each
-- step of a run changes.
CREATE INDEX run_fronts ON run (created_at, id) WHERE front = 1;
CREATE INDEX run_wished ON run (thread) WHERE wish <> '' AND status IN ('pending', 'running');
