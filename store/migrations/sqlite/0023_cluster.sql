-- hold is the server that writes to a thread outside of a run, for databases that have several. 0 for none.
ALTER TABLE thread ADD COLUMN hold INTEGER NOT NULL DEFAULT 0;
