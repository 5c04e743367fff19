-- additive
-- is_flagged tells whether a member of metadata, which may be anything, is true.
CREATE FUNCTION is_flagged(metadata text, name text) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE WHEN replace(metadata, '\u0000', '\ufffd')::json ->> name = 'true'
    AND json_typeof(replace(metadata, '\u0000', '\ufffd')::json -> name) = 'boolean' THEN 1 ELSE 0 END;
EXCEPTION WHEN data_exception THEN
  RETURN 0;
END $$;

-- A temporary thread is in no list and is deleted soon after it was left: at leave_at, 0 while nobody has said when. An
-- archived one is out of the way. Both are said by the metadata, as pinned is.
ALTER TABLE thread ADD COLUMN temporary bigint GENERATED ALWAYS AS (is_flagged(metadata, 'fawn_temporary')) STORED;
ALTER TABLE thread ADD COLUMN archived bigint GENERATED ALWAYS AS (is_flagged(metadata, 'fawn_archived')) STORED;
ALTER TABLE thread ADD COLUMN leave_at bigint NOT NULL DEFAULT 0;
CREATE INDEX thread_by_shelf ON thread (owner, archived, pinned, updated_at, id) WHERE deleted_at = 0 AND temporary = 0;
CREATE INDEX thread_temporary ON thread (id) WHERE temporary = 1;
