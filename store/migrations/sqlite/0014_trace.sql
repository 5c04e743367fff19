-- What each call of a run took, for people who look into it. Rows of a run go with it, and after
-- a while by themselves. n is the moment at which the call began, in microseconds, made unique.
CREATE TABLE span (
  thread TEXT NOT NULL,
  run    TEXT NOT NULL,
  n      INTEGER NOT NULL,
  body   BLOB NOT NULL,
  PRIMARY KEY (thread, run, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX span_by_time ON span (n);

-- What models were sent in those calls, each piece once for each thread. used is when it was used
-- last, in milliseconds, give or take a day.
CREATE TABLE prompt (
  thread TEXT NOT NULL,
  hash   BLOB NOT NULL,
  used   INTEGER NOT NULL,
  body   BLOB NOT NULL,
  PRIMARY KEY (thread, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX prompt_by_use ON prompt (used);
