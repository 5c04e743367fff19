-- Model calls beside the answers of runs: titles, summaries, suggestions and the like. Rows
-- of a thread go with it; thread and run are '' where there is none.
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

-- Everything that was spent, by run, caller and model. Runs which ended before they kept
-- what each model cost count for the model that was asked for.
CREATE VIEW spent AS
  SELECT run.owner AS owner, run.thread AS thread, run.id AS run, run.created_at AS at, 'lead_agent' AS caller, m.key AS model,
    coalesce(m.value ->> 'input_tokens', 0) AS input, coalesce(m.value ->> 'output_tokens', 0) AS output,
    coalesce(m.value ->> 'total_tokens', 0) AS total, coalesce(m.value ->> 'cost', 0.0) AS cost, coalesce(m.value ->> 'currency', '') AS currency
  FROM run, json_each(run.usage, '$.by_model') m
  UNION ALL
  SELECT owner, thread, id, created_at, 'lead_agent',
    coalesce(json_extract(kwargs, '$.context.model_name'), json_extract(kwargs, '$.config.context.model_name'),
      json_extract(kwargs, '$.config.configurable.model_name'), json_extract(kwargs, '$.header_model'), 'default'),
    coalesce(usage ->> 'total_input_tokens', 0), coalesce(usage ->> 'total_output_tokens', 0), usage ->> 'total_tokens', 0.0, ''
  FROM run WHERE usage ->> 'total_tokens' > 0 AND usage -> 'by_model' IS NULL
  UNION ALL
  SELECT owner, thread, run, at, 'middleware', model, input, output, total, cost, currency FROM spending;
