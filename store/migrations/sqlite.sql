-- 36
-- What the migrations make: go test ./store -run TestTheWholeSchemaIsWhatMigrationsMake -update
CREATE TABLE thread (
  id               TEXT PRIMARY KEY NOT NULL,
  owner            TEXT NOT NULL DEFAULT 'default',
  status           TEXT NOT NULL,
  title            TEXT NOT NULL,
  metadata         TEXT NOT NULL,
  config           TEXT NOT NULL,
  head             TEXT NOT NULL,              -- checkpoint id of the root namespace, '' before the first
  seq              INTEGER NOT NULL DEFAULT 0, -- greatest event number ever folded; never goes down
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  state_updated_at INTEGER NOT NULL
, pinned INTEGER GENERATED ALWAYS AS
  (CASE WHEN json_valid(metadata) THEN coalesce(json_type(metadata, '$.deerflow_pinned') = 'true', 0) ELSE 0 END) VIRTUAL, seen INTEGER NOT NULL DEFAULT 0, deleted_at INTEGER NOT NULL DEFAULT 0, top INTEGER NOT NULL DEFAULT 0, incarnation INTEGER NOT NULL DEFAULT 0, hold INTEGER NOT NULL DEFAULT 0, box INTEGER NOT NULL DEFAULT 0, box_wish INTEGER NOT NULL DEFAULT 0, project TEXT NOT NULL DEFAULT '', temporary INTEGER GENERATED ALWAYS AS
  (CASE WHEN json_valid(metadata) THEN coalesce(json_type(metadata, '$.fawn_temporary') = 'true', 0) ELSE 0 END) VIRTUAL, archived INTEGER GENERATED ALWAYS AS
  (CASE WHEN json_valid(metadata) THEN coalesce(json_type(metadata, '$.fawn_archived') = 'true', 0) ELSE 0 END) VIRTUAL, leave_at INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE message (
  thread TEXT NOT NULL,
  n      INTEGER NOT NULL,
  id     TEXT NOT NULL,
  body   BLOB NOT NULL,
  PRIMARY KEY (thread, n)
) STRICT;
CREATE TABLE field (
  thread  TEXT NOT NULL,
  name    TEXT NOT NULL,
  version INTEGER NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (thread, name, version)
) STRICT;
CREATE TABLE checkpoint (
  thread TEXT NOT NULL,
  ns     TEXT NOT NULL,
  id     TEXT NOT NULL,
  parent TEXT NOT NULL,
  run    TEXT NOT NULL,
  step   INTEGER NOT NULL,
  source TEXT NOT NULL,
  next   TEXT NOT NULL,
  meta   TEXT NOT NULL,
  card   TEXT NOT NULL,
  at     INTEGER NOT NULL,
  PRIMARY KEY (thread, ns, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE run (
  id              TEXT PRIMARY KEY NOT NULL,
  thread          TEXT NOT NULL,
  assistant       TEXT NOT NULL,
  owner           TEXT NOT NULL DEFAULT 'default',
  status          TEXT NOT NULL,
  multitask       TEXT NOT NULL,
  stop_reason     TEXT NOT NULL,
  error           TEXT NOT NULL,
  base_checkpoint TEXT NOT NULL,
  metadata        TEXT NOT NULL,
  kwargs          TEXT NOT NULL,
  usage           TEXT NOT NULL,
  first_seq       INTEGER NOT NULL,
  last_seq        INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
, parent TEXT NOT NULL DEFAULT '', wish TEXT NOT NULL DEFAULT '', held INTEGER NOT NULL DEFAULT 0, line INTEGER NOT NULL DEFAULT 0, front INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL DEFAULT 0, node INTEGER NOT NULL DEFAULT 0, ready INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX run_by_thread ON run (thread, created_at, id);
CREATE INDEX run_open ON run (created_at, id) WHERE status IN ('pending', 'running');
CREATE TABLE tail (
  id   INTEGER PRIMARY KEY NOT NULL,
  data BLOB NOT NULL
) STRICT;
CREATE TABLE event (
  thread TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  "to"   INTEGER NOT NULL,
  run    TEXT NOT NULL,
  kind   TEXT NOT NULL,
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, "to")
) STRICT;
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
, deliver TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX cron_due ON cron (next_at) WHERE next_at > 0;
CREATE INDEX cron_by_owner ON cron (owner, created_at, id);
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
CREATE TABLE audit (
  id     INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  owner  TEXT NOT NULL DEFAULT 'default',
  thread TEXT NOT NULL,
  kind   TEXT NOT NULL,
  upto   INTEGER NOT NULL,
  body   TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_thread ON audit (thread, id);
CREATE INDEX audit_by_owner ON audit (owner, id);
CREATE TABLE spending (
  id       INTEGER PRIMARY KEY NOT NULL,
  owner    TEXT NOT NULL DEFAULT 'default',
  thread   TEXT NOT NULL,
  run      TEXT NOT NULL,
  purpose  TEXT NOT NULL,
  model    TEXT NOT NULL,
  input    INTEGER NOT NULL,
  output   INTEGER NOT NULL,
  total    INTEGER NOT NULL,
  cost     REAL NOT NULL,              -- at the price of that moment, 0 where none is known
  currency TEXT NOT NULL,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX spending_by_run ON spending (run);
CREATE INDEX spending_by_thread ON spending (thread);
CREATE INDEX spending_by_owner ON spending (owner, at);
CREATE TABLE share (
  thread     TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  token      TEXT NOT NULL UNIQUE,
  checkpoint TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX thread_by_updated ON thread (owner, updated_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_by_created ON thread (owner, created_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_by_pinned ON thread (owner, pinned, updated_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_deleted ON thread (deleted_at, owner) WHERE deleted_at > 0;
CREATE TABLE kv (
  owner TEXT NOT NULL,
  space TEXT NOT NULL,
  key   TEXT NOT NULL,
  body  BLOB NOT NULL,
  PRIMARY KEY (owner, space, key)
) STRICT;
CREATE INDEX run_by_parent ON run (parent) WHERE parent <> '';
CREATE TABLE passage_file (
  thread TEXT NOT NULL,
  file   TEXT NOT NULL,
  stamp  TEXT NOT NULL,
  bytes  INTEGER NOT NULL,
  PRIMARY KEY (thread, file)
) STRICT, WITHOUT ROWID;
CREATE TABLE passage (
  id      INTEGER PRIMARY KEY,
  thread  TEXT NOT NULL,
  file    TEXT NOT NULL,
  kind    TEXT NOT NULL,
  page    INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  last    INTEGER NOT NULL,
  heading TEXT NOT NULL,
  body    TEXT NOT NULL
) STRICT;
CREATE INDEX passage_by_file ON passage (thread, file);
CREATE VIRTUAL TABLE passage_word USING fts5 (words, content = '',
  tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co' tokenchars '_'");
CREATE VIEW spent AS
  SELECT run.owner AS owner, run.thread AS thread, run.id AS run, run.created_at AS at,
    iif(run.parent = '', 'lead_agent', 'subagent') AS caller, m.key AS model,
    coalesce(m.value ->> 'input_tokens', 0) AS input, coalesce(m.value ->> 'output_tokens', 0) AS output,
    coalesce(m.value ->> 'total_tokens', 0) AS total, coalesce(m.value ->> 'cost', 0.0) AS cost, coalesce(m.value ->> 'currency', '') AS currency
  FROM run, json_each(run.usage, '$.by_model') m
  UNION ALL
  SELECT owner, thread, id, created_at, 'lead_agent',
    coalesce(json_extract(kwargs, '$.context.model_name'), json_extract(kwargs, '$.config.context.model_name'),
      json_extract(kwargs, '$.config.configurable.model_name'), json_extract(kwargs, '$.header_model'), 'default'),
    coalesce(usage ->> 'total_input_tokens', 0), coalesce(usage ->> 'total_output_tokens', 0), usage ->> 'total_tokens', 0.0, ''
  FROM run WHERE usage ->> 'total_tokens' > 0 AND usage -> 'by_model' IS NULL AND usage -> 'subagent_by_model' IS NULL
  UNION ALL
  SELECT owner, thread, run, at, 'middleware', model, input, output, total, cost, currency FROM spending;
CREATE TABLE blob (
  thread TEXT NOT NULL,
  hash   BLOB NOT NULL,              -- SHA-256 of data
  data   BLOB NOT NULL,
  PRIMARY KEY (thread, hash)
) STRICT;
CREATE TABLE blob_use (
  thread TEXT NOT NULL,
  kind   TEXT NOT NULL,              -- 'message', 'field' or 'run'
  name   TEXT NOT NULL,
  n      INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  PRIMARY KEY (thread, kind, name, n, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE memory (
  owner      TEXT NOT NULL PRIMARY KEY,
  revision   INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  body       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fact (
  n          INTEGER PRIMARY KEY,
  owner      TEXT NOT NULL,
  agent      TEXT NOT NULL,
  id         TEXT NOT NULL,
  content    TEXT NOT NULL,
  category   TEXT NOT NULL,
  confidence REAL NOT NULL,
  source     TEXT NOT NULL,
  message    TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  extra      TEXT NOT NULL,
  UNIQUE (owner, agent, id)
) STRICT;
CREATE TABLE user (
  id         TEXT NOT NULL PRIMARY KEY,
  email      TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'user')),
  password   TEXT NOT NULL,
  disabled   INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE session (
  id         TEXT NOT NULL PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE,
  user       TEXT NOT NULL,
  device     TEXT NOT NULL,
  ip         TEXT NOT NULL,
  lasting    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_user ON session (user, used_at);
CREATE TABLE token (
  id         TEXT NOT NULL PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE,
  user       TEXT NOT NULL,
  name       TEXT NOT NULL,
  scope      TEXT NOT NULL CHECK (scope IN ('read', 'write')),
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX token_by_user ON token (user, created_at);
CREATE TABLE link (
  hash       BLOB NOT NULL PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('setup', 'invite', 'reset')),
  user       TEXT NOT NULL DEFAULT '',
  email      TEXT NOT NULL DEFAULT '',
  role       TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE identity (
  issuer     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  user       TEXT NOT NULL,
  email      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_by_user ON identity (user);
CREATE TABLE factor (
  id         TEXT NOT NULL PRIMARY KEY,
  user       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('totp', 'recovery', 'passkey')),
  ref        TEXT NOT NULL,
  name       TEXT NOT NULL,
  data       BLOB NOT NULL,
  step       INTEGER NOT NULL DEFAULT 0,
  confirmed  INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX factor_by_ref ON factor (kind, ref) WHERE ref <> '';
CREATE INDEX factor_by_user ON factor (user, kind);
CREATE TABLE span (
  thread TEXT NOT NULL,
  run    TEXT NOT NULL,
  n      INTEGER NOT NULL,
  body   BLOB NOT NULL,
  PRIMARY KEY (thread, run, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX span_by_time ON span (n);
CREATE TABLE prompt (
  thread TEXT NOT NULL,
  hash   BLOB NOT NULL,
  used   INTEGER NOT NULL,
  body   BLOB NOT NULL,
  PRIMARY KEY (thread, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX prompt_by_use ON prompt (used);
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
CREATE TABLE channel_code (
  hash       TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL,
  provider   TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL               -- 0 while it can be used
) STRICT, WITHOUT ROWID;
CREATE INDEX channel_code_by_owner ON channel_code (owner, provider);
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
CREATE UNIQUE INDEX run_front ON run (thread) WHERE front = 1;
CREATE INDEX run_line ON run (thread, line) WHERE line > 0;
CREATE INDEX run_due ON run (due_at) WHERE due_at > 0;
CREATE INDEX run_of ON run (node) WHERE node > 0;
CREATE TABLE setting (
    name    TEXT NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    body    BLOB
) STRICT;
CREATE TABLE tree (
  thread  TEXT NOT NULL,
  version INTEGER NOT NULL,          -- greater than its parent's, and than that of every other thread before it
  parent  INTEGER NOT NULL,          -- 0 for the first
  whole   INTEGER NOT NULL,          -- 1 when body is all there is
  body    BLOB NOT NULL,
  PRIMARY KEY (thread, version),
  UNIQUE (thread, parent)
) STRICT, WITHOUT ROWID;
CREATE TABLE object (
  name TEXT NOT NULL PRIMARY KEY,
  at   INTEGER NOT NULL,             -- when it was stored or came to be used again
  gone INTEGER NOT NULL DEFAULT 0    -- 1 while it is being removed
) STRICT, WITHOUT ROWID;
CREATE INDEX object_at ON object(at);
CREATE TABLE object_use (
  object  TEXT NOT NULL,
  thread  TEXT NOT NULL,
  version INTEGER NOT NULL,          -- of the tree whose body names it
  PRIMARY KEY (object, thread, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX object_use_thread ON object_use(thread, version);
CREATE TABLE duty (
    name TEXT NOT NULL PRIMARY KEY,
    node INTEGER NOT NULL
) STRICT;
CREATE TABLE team (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL UNIQUE,
  rules      TEXT NOT NULL,          -- JSON, see agent/access
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE team_member (
  team   TEXT NOT NULL,
  member TEXT NOT NULL,              -- the id of an account, or role:NAME
  PRIMARY KEY (team, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX team_member_of ON team_member (member);
CREATE TABLE announcement (
  id         TEXT PRIMARY KEY NOT NULL,
  text       TEXT NOT NULL,
  level      TEXT NOT NULL,          -- info or warning
  ends_at    INTEGER NOT NULL,       -- 0 for no end
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE announcement_seen (
  owner        TEXT NOT NULL,
  announcement TEXT NOT NULL,
  PRIMARY KEY (owner, announcement)
) STRICT, WITHOUT ROWID;
CREATE TABLE used (
  id     TEXT PRIMARY KEY NOT NULL,  -- of the run, or of the row of spending
  owner  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  runs   INTEGER NOT NULL,
  tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_by_owner ON used (owner, at);
CREATE INDEX run_by_owner ON run (owner, created_at, id);
CREATE TABLE comparison (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL,
  chosen     TEXT NOT NULL,          -- the thread that was preferred, '' for none yet
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX comparison_by_owner ON comparison (owner);
CREATE TABLE comparison_side (
  comparison TEXT NOT NULL,
  place      INTEGER NOT NULL,       -- from 0
  thread     TEXT NOT NULL,
  model      TEXT NOT NULL,
  PRIMARY KEY (comparison, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE project (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  name       TEXT NOT NULL,
  settings   TEXT NOT NULL,              -- an object
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX project_by_owner ON project (owner, id);
CREATE TABLE project_member (
  project TEXT NOT NULL,
  member  TEXT NOT NULL,
  role    TEXT NOT NULL,                 -- 'viewer' or 'editor'
  PRIMARY KEY (project, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_member_by_member ON project_member (member, project);
CREATE INDEX thread_by_project ON thread (project, owner, updated_at, id) WHERE project <> '';
CREATE INDEX thread_by_shelf ON thread (owner, archived, pinned, updated_at, id) WHERE deleted_at = 0 AND temporary = 0;
CREATE INDEX thread_temporary ON thread (id) WHERE temporary = 1;
CREATE TABLE knowledge (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  name       TEXT NOT NULL,
  about      TEXT NOT NULL,
  version    INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_by_owner ON knowledge (owner, id);
CREATE TABLE knowledge_member (
  knowledge TEXT NOT NULL,
  member    TEXT NOT NULL,               -- the id of an account, or group:ID
  role      TEXT NOT NULL,               -- 'viewer' or 'editor'
  PRIMARY KEY (knowledge, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_member_by_member ON knowledge_member (member, knowledge);
CREATE TABLE knowledge_source (
  id         TEXT PRIMARY KEY NOT NULL,
  knowledge  TEXT NOT NULL,
  kind       TEXT NOT NULL,              -- upload, folder, web or git
  address    TEXT NOT NULL,
  every      INTEGER NOT NULL,           -- seconds, 0 for when it is asked for only
  state      TEXT NOT NULL,              -- pending, ready or failed
  problem    TEXT NOT NULL,
  stamp      TEXT NOT NULL,              -- of what it was when it was read
  asked      INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  total      INTEGER NOT NULL,
  skipped    INTEGER NOT NULL,           -- files that are no documents
  checked_at INTEGER NOT NULL,
  next_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_source_of ON knowledge_source (knowledge, id);
CREATE INDEX knowledge_source_due ON knowledge_source (next_at) WHERE next_at > 0;
CREATE TABLE knowledge_doc (
  id         INTEGER PRIMARY KEY,
  knowledge  TEXT NOT NULL,
  source     TEXT NOT NULL,
  name       TEXT NOT NULL,
  title      TEXT NOT NULL,
  address    TEXT NOT NULL,
  stamp      TEXT NOT NULL,
  hash       TEXT NOT NULL,
  state      TEXT NOT NULL,              -- pending, converted, partial or failed
  reason     TEXT NOT NULL,
  tries      INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,           -- of its text
  updated_at INTEGER NOT NULL,
  UNIQUE (source, name)
) STRICT;
CREATE INDEX knowledge_doc_of ON knowledge_doc (knowledge, name, id);
CREATE TABLE knowledge_text (
  doc  INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE knowledge_vector (
  passage   INTEGER PRIMARY KEY,
  knowledge TEXT NOT NULL,
  model     TEXT NOT NULL,
  vector    BLOB NOT NULL
) STRICT;
CREATE INDEX knowledge_vector_of ON knowledge_vector (knowledge, model);
CREATE TABLE saved_prompt (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  name       TEXT NOT NULL,              -- no two of an owner's have the same
  about      TEXT NOT NULL,
  text       TEXT NOT NULL,
  shared     TEXT NOT NULL DEFAULT '',   -- '' with nobody, 'all', or the id of a team
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX saved_prompt_by_owner ON saved_prompt (owner, name);
CREATE INDEX saved_prompt_shared ON saved_prompt (shared) WHERE shared <> '';
CREATE TRIGGER run_used BEFORE DELETE ON run WHEN OLD.created_at > (unixepoch() - 172800) * 1000 BEGIN
  INSERT INTO used(id, owner, at, runs, tokens) SELECT OLD.id, OLD.owner, OLD.created_at, OLD.parent = '',
    coalesce((SELECT sum(total) FROM spent WHERE run = OLD.id AND caller <> 'middleware'), 0)
    WHERE true ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER spending_used BEFORE DELETE ON spending WHEN OLD.at > (unixepoch() - 172800) * 1000 BEGIN
  INSERT INTO used(id, owner, at, runs, tokens) VALUES ('spending ' || OLD.id, OLD.owner, OLD.at, 0, OLD.total)
    ON CONFLICT DO NOTHING;
END;
INSERT INTO passage_word (passage_word, rank) VALUES ('secure-delete', 1);
