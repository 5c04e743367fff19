-- parent is the run that a run works for, as a helper's: in the same thread, and never longer.
ALTER TABLE run ADD COLUMN parent TEXT NOT NULL DEFAULT '';
CREATE INDEX run_by_parent ON run (parent) WHERE parent <> '';
