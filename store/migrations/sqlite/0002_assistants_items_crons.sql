-- An assistant is a named set of defaults for runs; every change keeps the whole row as a version.
CREATE TABLE assistant (
  id          TEXT PRIMARY KEY NOT NULL,
  owner       TEXT NOT NULL DEFAULT 'default',
  graph       TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT,
  version     INTEGER NOT NULL,
  config      TEXT NOT NULL,
  context     TEXT NOT NULL,
  metadata    TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX assistant_by_owner ON assistant (owner, created_at, id);

CREATE TABLE assistant_version (
  assistant   TEXT NOT NULL,
  version     INTEGER NOT NULL,
  graph       TEXT NOT NULL,
  name        TEXT NOT NULL,
  description TEXT,
  config      TEXT NOT NULL,
  context     TEXT NOT NULL,
  metadata    TEXT NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (assistant, version)
) STRICT;

-- namespace is the labels joined by '.', which no label contains. expires_at is 0 for items that stay.
CREATE TABLE item (
  owner      TEXT NOT NULL DEFAULT 'default',
  namespace  TEXT NOT NULL,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  ttl        INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (owner, namespace, key)
) STRICT;
CREATE INDEX item_expiring ON item (expires_at) WHERE expires_at > 0;

-- next_at is when a run is due, 0 for never again or not while it is disabled.
CREATE TABLE cron (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  kind       TEXT NOT NULL,              -- 'cron': by schedule, 'once': at run_at
  assistant  TEXT NOT NULL,
  thread     TEXT NOT NULL,              -- '' makes a new thread for each run
  schedule   TEXT NOT NULL,
  timezone   TEXT NOT NULL,
  run_at     INTEGER NOT NULL,
  end_at     INTEGER NOT NULL,
  next_at    INTEGER NOT NULL,
  enabled    INTEGER NOT NULL,
  "after"    TEXT NOT NULL,              -- what becomes of a run's own thread: 'keep' or 'delete'
  "overlap"  TEXT NOT NULL,              -- 'skip' starts nothing while its last run goes on, else ''
  title      TEXT NOT NULL,
  task       INTEGER NOT NULL,           -- 1 when it was made as a scheduled task
  payload    TEXT NOT NULL,
  metadata   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX cron_due ON cron (next_at) WHERE next_at > 0;
CREATE INDEX cron_by_owner ON cron (owner, created_at, id);

-- One start of a cron. It is stored before the run is, so that a crash between the two loses nothing.
CREATE TABLE cron_run (
  id          TEXT PRIMARY KEY NOT NULL,
  cron        TEXT NOT NULL,
  run         TEXT NOT NULL,
  thread      TEXT NOT NULL,
  "trigger"   TEXT NOT NULL,             -- 'scheduled' or 'manual'
  status      TEXT NOT NULL,
  error       TEXT NOT NULL,
  due_at      INTEGER NOT NULL,
  started_at  INTEGER NOT NULL,
  finished_at INTEGER NOT NULL
) STRICT;
CREATE INDEX cron_run_by_cron ON cron_run (cron, due_at, id);
CREATE INDEX cron_run_open ON cron_run (due_at, id) WHERE finished_at = 0;

CREATE TABLE feedback (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  thread     TEXT NOT NULL,
  run        TEXT NOT NULL,
  message    TEXT NOT NULL,
  rating     INTEGER NOT NULL,
  comment    TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX feedback_by_run ON feedback (thread, run, created_at, id);

-- Pinned threads come first in lists.
ALTER TABLE thread ADD COLUMN pinned INTEGER GENERATED ALWAYS AS
  (CASE WHEN json_valid(metadata) THEN coalesce(json_type(metadata, '$.deerflow_pinned') = 'true', 0) ELSE 0 END) VIRTUAL;
CREATE INDEX thread_by_pinned ON thread (owner, pinned, updated_at, id);
