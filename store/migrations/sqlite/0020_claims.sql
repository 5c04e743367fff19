-- node is the server that has the run at the front of its line: the one whose batch brought it there,
-- or that has taken it over. 0 for runs that are not at the front, and for those that nobody has.
ALTER TABLE run ADD COLUMN node INTEGER NOT NULL DEFAULT 0;

CREATE INDEX run_of ON run (node) WHERE node > 0;
