-- What a run's helpers took stands in their own rows, which are told apart from the lead's. A
-- run's totals have it too, so that only the rest counts where no model is named.
DROP VIEW spent;
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
