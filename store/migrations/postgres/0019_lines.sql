-- The line of a thread. line is a run's place in it, from 1, and 0 when it stands in none: it has
-- ended, works for another one, is held, or is to start later, at due_at. front is 1 for the first
-- in line, which is at work or the next to be. No other index on threads may be unique: statements
-- that meet on two of them could wait for each other for ever.
ALTER TABLE run ADD COLUMN line bigint NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN front bigint NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN due_at bigint NOT NULL DEFAULT 0;

UPDATE run SET due_at = created_at + (1000 * (as_json(kwargs) ->> 'after_seconds')::numeric)::bigint
  WHERE status = 'pending' AND held = 0 AND parent = '' AND (as_json(kwargs) ->> 'after_seconds')::numeric > 0
    AND created_at + 1000 * (as_json(kwargs) ->> 'after_seconds')::numeric > 1000 * extract(epoch FROM now());
UPDATE run SET line = place.n, front = CASE place.n WHEN 1 THEN 1 ELSE 0 END
  FROM (SELECT id, row_number() OVER (PARTITION BY thread ORDER BY status = 'pending', created_at, id) AS n FROM run
    WHERE status IN ('pending', 'running') AND parent = '' AND held = 0 AND due_at = 0) place
  WHERE run.id = place.id;

CREATE UNIQUE INDEX run_front ON run (thread) WHERE front = 1;
CREATE INDEX run_line ON run (thread, line) WHERE line > 0;
CREATE INDEX run_due ON run (due_at) WHERE due_at > 0;
