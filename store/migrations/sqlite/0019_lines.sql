-- The line of a thread. line is a run's place in it, from 1, and 0 when it stands in none: it has
-- ended, works for another one, is held, or is to start later, at due_at. front is 1 for the first
-- in line, which is at work or the next to be. No other index on threads may be unique: statements
-- that meet on two of them could wait for each other for ever.
ALTER TABLE run ADD COLUMN line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN front INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN due_at INTEGER NOT NULL DEFAULT 0;

UPDATE run SET due_at = created_at + CAST(1000 * json_extract(kwargs, '$.after_seconds') AS INTEGER)
  WHERE status = 'pending' AND held = 0 AND parent = '' AND json_extract(kwargs, '$.after_seconds') > 0
    AND created_at + 1000 * json_extract(kwargs, '$.after_seconds') > 1000 * CAST(strftime('%s', 'now') AS INTEGER);
UPDATE run SET line = (SELECT count(*) FROM run r WHERE r.thread = run.thread AND r.status IN ('pending', 'running')
    AND r.parent = '' AND r.held = 0 AND r.due_at = 0
    AND (r.status = 'pending', r.created_at, r.id) <= (run.status = 'pending', run.created_at, run.id))
  WHERE status IN ('pending', 'running') AND parent = '' AND held = 0 AND due_at = 0;
UPDATE run SET front = 1 WHERE line = 1;

CREATE UNIQUE INDEX run_front ON run (thread) WHERE front = 1;
CREATE INDEX run_line ON run (thread, line) WHERE line > 0;
CREATE INDEX run_due ON run (due_at) WHERE due_at > 0;
