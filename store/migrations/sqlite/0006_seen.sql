-- seen is the number of the last event of a thread's runs that its owner has looked at.
-- What there was before counts as looked at.
ALTER TABLE thread ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
UPDATE thread SET seen = coalesce((SELECT max(last_seq) FROM run WHERE run.thread = thread.id), 0);
