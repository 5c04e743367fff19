-- What the migrations of SQLite up to the same number make, in one. Times are milliseconds since 1970
-- UTC, and what is true or false is 1 or 0. Text is ordered by its bytes. Bodies and JSON are kept
-- exactly as the API shows them.

-- as_json reads text. U+0000, which texts may have as an escape, is none that PostgreSQL takes.
CREATE FUNCTION as_json(raw text) RETURNS json IMMUTABLE LANGUAGE sql AS
  $$ SELECT replace(raw, '\u0000', '\ufffd')::json $$;

-- body_text is what a body is searched as, also one that is not UTF-8.
CREATE FUNCTION body_text(body bytea) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN convert_from(body, 'UTF8');
EXCEPTION WHEN data_exception THEN
  RETURN encode(body, 'escape');
END $$;

-- is_pinned is what the column of a thread says; metadata may be anything.
CREATE FUNCTION is_pinned(metadata text) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN replace(metadata, '\u0000', '\ufffd')::json ->> 'deerflow_pinned' = 'true'
    AND json_typeof(replace(metadata, '\u0000', '\ufffd')::json -> 'deerflow_pinned') = 'boolean' THEN 1 ELSE 0 END;
EXCEPTION WHEN data_exception THEN
  RETURN 0;
END $$;

-- merged_members is the object have with the members of others, and with those of fresh it does not have.
CREATE FUNCTION merged_members(have text, fresh text, others text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT '{' || coalesce(string_agg(to_json(key)::text || ':' || value::text, ',' ORDER BY key COLLATE "C"), '') || '}'
  FROM (SELECT DISTINCT ON (key) key, value
    FROM (VALUES (1, as_json(fresh)), (2, as_json(have)), (3, as_json(others))) o(rank, object),
      LATERAL json_each(CASE json_typeof(object) WHEN 'null' THEN '{}' ELSE object END) WITH ORDINALITY m(key, value, n)
    ORDER BY key, rank DESC, n DESC) last
$$;

-- must ends a transaction in which a statement has changed or found nothing.
CREATE FUNCTION must(rows bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF rows = 0 THEN
    RAISE EXCEPTION 'no row' USING ERRCODE = 'FW000';
  END IF;
  RETURN rows;
END $$;

-- The server that is at work. committed is the number of the last group of changes it has written, by which
-- it finds out what became of one during which the connection was lost.
CREATE TABLE node (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  host       text NOT NULL,
  pid        bigint NOT NULL,
  address    text NOT NULL,
  started_at bigint NOT NULL,
  committed  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE thread (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  status text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  config text COLLATE "C" NOT NULL,
  head text COLLATE "C" NOT NULL,
  seq bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  state_updated_at bigint NOT NULL,
  pinned bigint GENERATED ALWAYS AS (is_pinned(metadata)) STORED,
  seen bigint NOT NULL DEFAULT 0,
  deleted_at bigint NOT NULL DEFAULT 0,
  top bigint NOT NULL DEFAULT 0,
  incarnation bigint NOT NULL DEFAULT 0
);
CREATE INDEX thread_by_updated ON thread (owner, updated_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_by_created ON thread (owner, created_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_by_pinned ON thread (owner, pinned, updated_at, id) WHERE deleted_at = 0;
CREATE INDEX thread_deleted ON thread (deleted_at, owner) WHERE deleted_at > 0;

CREATE TABLE message (
  thread text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (thread, n)
);

CREATE TABLE field (
  thread text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (thread, name, version)
);

CREATE TABLE checkpoint (
  thread text COLLATE "C" NOT NULL,
  ns text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  parent text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  step bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  next text COLLATE "C" NOT NULL,
  meta text COLLATE "C" NOT NULL,
  card text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (thread, ns, id)
);

CREATE TABLE run (
  id text COLLATE "C" PRIMARY KEY,
  thread text COLLATE "C" NOT NULL,
  assistant text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  status text COLLATE "C" NOT NULL,
  multitask text COLLATE "C" NOT NULL,
  stop_reason text COLLATE "C" NOT NULL,
  error text COLLATE "C" NOT NULL,
  base_checkpoint text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  kwargs text COLLATE "C" NOT NULL,
  usage text COLLATE "C" NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  attempt bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  parent text COLLATE "C" NOT NULL DEFAULT '',
  wish text COLLATE "C" NOT NULL DEFAULT '',
  held bigint NOT NULL DEFAULT 0
);
CREATE INDEX run_by_thread ON run (thread, created_at, id);
CREATE INDEX run_open ON run (created_at, id) WHERE status IN ('pending', 'running');
CREATE INDEX run_by_parent ON run (parent) WHERE parent <> '';

CREATE TABLE tail (
  id bigint PRIMARY KEY,
  data bytea NOT NULL
);

CREATE TABLE event (
  thread text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  "to" bigint NOT NULL,
  run text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (thread, "to")
);

CREATE TABLE assistant (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  graph text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text COLLATE "C",
  version bigint NOT NULL,
  config text COLLATE "C" NOT NULL,
  context text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX assistant_by_owner ON assistant (owner, created_at, id);

CREATE TABLE assistant_version (
  assistant text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  graph text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  description text COLLATE "C",
  config text COLLATE "C" NOT NULL,
  context text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (assistant, version)
);

CREATE TABLE item (
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  namespace text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  ttl bigint NOT NULL,
  expires_at bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  rowid bigint GENERATED BY DEFAULT AS IDENTITY UNIQUE,
  PRIMARY KEY (owner, namespace, key)
);
CREATE INDEX item_expiring ON item (expires_at) WHERE expires_at > 0;

CREATE TABLE cron (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  kind text COLLATE "C" NOT NULL,
  assistant text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  schedule text COLLATE "C" NOT NULL,
  timezone text COLLATE "C" NOT NULL,
  run_at bigint NOT NULL,
  end_at bigint NOT NULL,
  next_at bigint NOT NULL,
  enabled bigint NOT NULL,
  "after" text COLLATE "C" NOT NULL,
  "overlap" text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  task bigint NOT NULL,
  payload text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE INDEX cron_due ON cron (next_at) WHERE next_at > 0;
CREATE INDEX cron_by_owner ON cron (owner, created_at, id);

CREATE TABLE cron_run (
  id text COLLATE "C" PRIMARY KEY,
  cron text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  "trigger" text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  error text COLLATE "C" NOT NULL,
  due_at bigint NOT NULL,
  started_at bigint NOT NULL,
  finished_at bigint NOT NULL
);
CREATE INDEX cron_run_by_cron ON cron_run (cron, due_at, id);
CREATE INDEX cron_run_open ON cron_run (due_at, id) WHERE finished_at = 0;

CREATE TABLE feedback (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  thread text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  rating bigint NOT NULL,
  comment text COLLATE "C",
  created_at bigint NOT NULL
);
CREATE INDEX feedback_by_run ON feedback (thread, run, created_at, id);

CREATE TABLE audit (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  thread text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  upto bigint NOT NULL,
  body text COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_thread ON audit (thread, id);
CREATE INDEX audit_by_owner ON audit (owner, id);

CREATE TABLE spending (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  thread text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  purpose text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  total bigint NOT NULL,
  cost double precision NOT NULL,
  currency text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX spending_by_run ON spending (run);
CREATE INDEX spending_by_thread ON spending (thread);
CREATE INDEX spending_by_owner ON spending (owner, at);

CREATE TABLE share (
  thread text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL DEFAULT 'default',
  token text COLLATE "C" NOT NULL UNIQUE,
  checkpoint text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE kv (
  owner text COLLATE "C" NOT NULL,
  space text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (owner, space, key)
);

CREATE TABLE passage_file (
  thread text COLLATE "C" NOT NULL,
  file text COLLATE "C" NOT NULL,
  stamp text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (thread, file)
);

CREATE TABLE passage (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  thread text COLLATE "C" NOT NULL,
  file text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  page bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  heading text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL
);
CREATE INDEX passage_by_file ON passage (thread, file);

CREATE TABLE blob (
  thread text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (thread, hash)
);

CREATE TABLE blob_use (
  thread text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  hash bytea NOT NULL,
  PRIMARY KEY (thread, kind, name, n, hash)
);

CREATE TABLE memory (
  owner text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  updated_at bigint NOT NULL,
  body text COLLATE "C" NOT NULL
);

CREATE TABLE fact (
  n bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  content text COLLATE "C" NOT NULL,
  category text COLLATE "C" NOT NULL,
  confidence double precision NOT NULL,
  source text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  extra text COLLATE "C" NOT NULL,
  UNIQUE (owner, agent, id)
);

CREATE TABLE "user" (
  id text COLLATE "C" PRIMARY KEY,
  email text COLLATE "C" NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL,
  role text COLLATE "C" NOT NULL CHECK (role IN ('owner', 'admin', 'user')),
  password text COLLATE "C" NOT NULL,
  disabled bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

CREATE TABLE session (
  id text COLLATE "C" PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  "user" text COLLATE "C" NOT NULL,
  device text COLLATE "C" NOT NULL,
  ip text COLLATE "C" NOT NULL,
  lasting bigint NOT NULL,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX session_by_user ON session ("user", used_at);

CREATE TABLE token (
  id text COLLATE "C" PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  "user" text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL CHECK (scope IN ('read', 'write')),
  created_at bigint NOT NULL,
  used_at bigint NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL DEFAULT 0
);
CREATE INDEX token_by_user ON token ("user", created_at);

CREATE TABLE link (
  hash bytea PRIMARY KEY,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('setup', 'invite', 'reset')),
  "user" text COLLATE "C" NOT NULL DEFAULT '',
  email text COLLATE "C" NOT NULL DEFAULT '',
  role text COLLATE "C" NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);

CREATE TABLE identity (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  "user" text COLLATE "C" NOT NULL,
  email text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identity_by_user ON identity ("user");

CREATE TABLE factor (
  id text COLLATE "C" PRIMARY KEY,
  "user" text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('totp', 'recovery', 'passkey')),
  ref text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  data bytea NOT NULL,
  step bigint NOT NULL DEFAULT 0,
  confirmed bigint NOT NULL DEFAULT 0,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX factor_by_ref ON factor (kind, ref) WHERE ref <> '';
CREATE INDEX factor_by_user ON factor ("user", kind);

CREATE TABLE span (
  thread text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (thread, run, n)
);
CREATE INDEX span_by_time ON span (n);

CREATE TABLE prompt (
  thread text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  used bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (thread, hash)
);
CREATE INDEX prompt_by_use ON prompt (used);

CREATE TABLE channel_connection (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  account text COLLATE "C" NOT NULL,
  account_name text COLLATE "C" NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  workspace_name text COLLATE "C" NOT NULL,
  metadata text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  last_seen_at bigint NOT NULL
);
CREATE UNIQUE INDEX channel_connection_by_account ON channel_connection (provider, account, workspace) WHERE status <> 'revoked';
CREATE INDEX channel_connection_by_owner ON channel_connection (owner, created_at, id);

CREATE TABLE channel_code (
  hash text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  used_at bigint NOT NULL
);
CREATE INDEX channel_code_by_owner ON channel_code (owner, provider);

CREATE TABLE channel_chat (
  provider text COLLATE "C" NOT NULL,
  chat text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  alias text COLLATE "C" NOT NULL,
  thread text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  enabled_by text COLLATE "C" NOT NULL,
  settings text COLLATE "C" NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (provider, chat, topic)
);
CREATE INDEX channel_chat_by_thread ON channel_chat (thread) WHERE thread <> '';

CREATE TABLE channel_in (
  n bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  provider text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  chat text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  run text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  UNIQUE (provider, id)
);
CREATE INDEX channel_in_open ON channel_in (provider, chat, topic, n) WHERE state IN ('new', 'waiting', 'started');
CREATE INDEX channel_in_by_run ON channel_in (run) WHERE run <> '';
CREATE INDEX channel_in_closed ON channel_in (at) WHERE state NOT IN ('new', 'waiting', 'started');

CREATE TABLE channel_out (
  run text COLLATE "C" NOT NULL,
  piece text COLLATE "C" NOT NULL,
  provider text COLLATE "C" NOT NULL,
  chat text COLLATE "C" NOT NULL,
  topic text COLLATE "C" NOT NULL,
  place bytea NOT NULL,
  message text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  cursor bigint NOT NULL,
  tries bigint NOT NULL,
  next_at bigint NOT NULL,
  error text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (run, piece)
);
CREATE INDEX channel_out_open ON channel_out (at, run) WHERE state IN ('planned', 'sending', 'open');
CREATE INDEX channel_out_by_chat ON channel_out (provider, chat, topic, at);

-- Rows of the tail live for a moment, and are packed already.
ALTER TABLE tail ALTER data SET STORAGE EXTERNAL;
ALTER TABLE tail SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Updates of these are to stay on their pages.
ALTER TABLE thread SET (fillfactor = 80);
ALTER TABLE run SET (fillfactor = 80);

CREATE VIEW spent AS
  SELECT run.owner AS owner, run.thread AS thread, run.id AS run, run.created_at AS at,
    CASE WHEN run.parent = '' THEN 'lead_agent' ELSE 'subagent' END AS caller, m.key AS model,
    coalesce((m.value ->> 'input_tokens')::bigint, 0) AS input, coalesce((m.value ->> 'output_tokens')::bigint, 0) AS output,
    coalesce((m.value ->> 'total_tokens')::bigint, 0) AS total, coalesce((m.value ->> 'cost')::double precision, 0) AS cost,
    coalesce(m.value ->> 'currency', '') AS currency
  FROM run, LATERAL json_each(as_json(run.usage) -> 'by_model') m
  UNION ALL
  SELECT owner, thread, id, created_at, 'lead_agent',
    coalesce(asked -> 'context' ->> 'model_name', asked -> 'config' -> 'context' ->> 'model_name',
      asked -> 'config' -> 'configurable' ->> 'model_name', asked ->> 'header_model', 'default'),
    coalesce((took ->> 'total_input_tokens')::bigint, 0), coalesce((took ->> 'total_output_tokens')::bigint, 0),
    (took ->> 'total_tokens')::bigint, 0, ''
  FROM (SELECT owner, thread, id, created_at, as_json(kwargs) AS asked, as_json(usage) AS took FROM run) r
  WHERE (took ->> 'total_tokens')::bigint > 0 AND took -> 'by_model' IS NULL AND took -> 'subagent_by_model' IS NULL
  UNION ALL
  SELECT owner, thread, run, at, 'middleware', model, input, output, total, cost, currency FROM spending;

-- The index of passages takes the words of a text as "scope_word scope_word ...", and is asked for
-- '"scope_word" OR "scope_begin"*', as SQLite's is. Words are compared by their stems and without accents.
CREATE TEXT SEARCH DICTIONARY passage_stem (TEMPLATE = snowball, LANGUAGE = english);

CREATE FUNCTION passage_term(term text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT '''' || split_part(term, '_', 1) || '_' || replace(coalesce((ts_lexize('passage_stem', word))[1], word), '''', '''''') || ''''
  FROM (SELECT normalize(regexp_replace(normalize(substr(term, strpos(term, '_') + 1), NFKD), '[\u0300-\u036f]', '', 'g'), NFC)) w(word)
$$;

CREATE FUNCTION passage_words(list text) RETURNS tsvector IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(string_agg(passage_term(term) || ':' || least(n, 16383), ' '), '')::tsvector
  FROM regexp_split_to_table(list, ' ') WITH ORDINALITY t(term, n) WHERE term <> ''
$$;

CREATE FUNCTION passage_query(list text) RETURNS tsquery IMMUTABLE LANGUAGE sql AS $$
  SELECT string_agg(passage_term(m[1]) || CASE m[2] WHEN '*' THEN ':*' ELSE '' END, ' | ')::tsquery
  FROM regexp_matches(list, '"([^"]*)"(\*?)', 'g') m
$$;

CREATE TABLE passage_word (
  rowid bigint PRIMARY KEY,
  words tsvector NOT NULL
);
CREATE INDEX passage_word_by_word ON passage_word USING gin (words);
