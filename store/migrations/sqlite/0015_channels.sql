-- Who, on a chat app, is which of our users.
CREATE TABLE channel_connection (
  id             TEXT PRIMARY KEY NOT NULL,
  owner          TEXT NOT NULL,
  provider       TEXT NOT NULL,
  status         TEXT NOT NULL,             -- 'connected' or 'revoked'
  account        TEXT NOT NULL,             -- the person's id there
  account_name   TEXT NOT NULL,
  workspace      TEXT NOT NULL,
  workspace_name TEXT NOT NULL,
  metadata       TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  last_seen_at   INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX channel_connection_by_account ON channel_connection (provider, account, workspace)
  WHERE status <> 'revoked';
CREATE INDEX channel_connection_by_owner ON channel_connection (owner, created_at, id);

-- Codes that connect whoever sends them. Only their hashes are kept.
CREATE TABLE channel_code (
  hash       TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL,
  provider   TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL               -- 0 while it can be used
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_code_by_owner ON channel_code (owner, provider);

-- The thread that goes on in a chat, or in a topic of one. A row with an alias is another name of the
-- topic it names. The row of a group itself has an empty topic.
CREATE TABLE channel_chat (
  provider   TEXT NOT NULL,
  chat       TEXT NOT NULL,
  topic      TEXT NOT NULL,
  alias      TEXT NOT NULL,
  thread     TEXT NOT NULL,
  owner      TEXT NOT NULL,
  kind       TEXT NOT NULL,                 -- 'private' or 'group'
  name       TEXT NOT NULL,
  enabled_by TEXT NOT NULL,                 -- who let Fawn into the group; '' means it is out
  settings   TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (provider, chat, topic)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_chat_by_thread ON channel_chat (thread) WHERE thread <> '';

-- What was received, in order of arrival. A message is here before the platform hears that it was.
CREATE TABLE channel_in (
  n        INTEGER PRIMARY KEY,
  provider TEXT NOT NULL,
  id       TEXT NOT NULL,
  chat     TEXT NOT NULL,
  topic    TEXT NOT NULL,
  at       INTEGER NOT NULL,
  run      TEXT NOT NULL,
  state    TEXT NOT NULL,                   -- new, waiting, started, done, refused or failed
  reason   TEXT NOT NULL,
  body     BLOB NOT NULL,                   -- empty once it is no longer needed
  UNIQUE (provider, id)
) STRICT;
CREATE INDEX channel_in_open ON channel_in (provider, chat, topic, n) WHERE state IN ('new', 'waiting', 'started');
CREATE INDEX channel_in_by_run ON channel_in (run) WHERE run <> '';
CREATE INDEX channel_in_closed ON channel_in (at) WHERE state NOT IN ('new', 'waiting', 'started');

-- The messages that make up the answer of a run. Pieces are '0', '1', ... of its text and 'f0', ... for files.
CREATE TABLE channel_out (
  run      TEXT NOT NULL,
  piece    TEXT NOT NULL,
  provider TEXT NOT NULL,
  chat     TEXT NOT NULL,
  topic    TEXT NOT NULL,
  place    BLOB NOT NULL,                   -- where to and in answer to what, as JSON
  message  TEXT NOT NULL,                   -- the platform's id, '' before it is known
  state    TEXT NOT NULL,                   -- planned, sending, open, done, failed or unknown
  hash     TEXT NOT NULL,                   -- of the text that shows
  cursor   INTEGER NOT NULL,                -- how much of the run's log it shows
  tries    INTEGER NOT NULL,
  next_at  INTEGER NOT NULL,
  error    TEXT NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (run, piece)
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_out_open ON channel_out (at, run) WHERE state IN ('planned', 'sending', 'open');
CREATE INDEX channel_out_by_chat ON channel_out (provider, chat, topic, at);
