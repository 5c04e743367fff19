-- wish is what is to become of a run that has not ended: 'interrupt', 'rollback' or ''. held is 1
-- while a pending run waits until somebody, or the good end of the run before it, puts it into line.
ALTER TABLE run ADD COLUMN wish TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN held INTEGER NOT NULL DEFAULT 0;

UPDATE run SET held = 1 WHERE status = 'pending' AND json_extract(kwargs, '$.hold');

-- What a waiting run was to end was found out by its strategy.
UPDATE run SET wish = coalesce((SELECT r.multitask FROM run r
    WHERE r.thread = run.thread AND r.status = 'pending' AND r.held = 0 AND r.parent = ''
      AND r.multitask IN ('interrupt', 'rollback') AND coalesce(json_extract(r.kwargs, '$.after_seconds'), 0) = 0
      AND (r.created_at, r.id) > (run.created_at, run.id)
    ORDER BY r.created_at DESC, r.id DESC LIMIT 1), '')
  WHERE status IN ('pending', 'running') AND parent = '';
