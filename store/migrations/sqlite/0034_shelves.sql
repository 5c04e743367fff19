-- A temporary thread is in no list and is deleted soon after it was left: at leave_at, 0 while nobody has said when. An
-- archived one is out of the way. Both are said by the metadata, as pinned is.
ALTER TABLE thread ADD COLUMN temporary INTEGER GENERATED ALWAYS AS
  (CASE WHEN json_valid(metadata) THEN coalesce(json_type(metadata, '$.fawn_temporary') = 'true', 0) ELSE 0 END) VIRTUAL;
ALTER TABLE thread ADD COLUMN archived INTEGER GENERATED ALWAYS AS
  (CASE WHEN json_valid(metadata) THEN coalesce(json_type(metadata, '$.fawn_archived') = 'true', 0) ELSE 0 END) VIRTUAL;
ALTER TABLE thread ADD COLUMN leave_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX thread_by_shelf ON thread (owner, archived, pinned, updated_at, id) WHERE deleted_at = 0 AND temporary = 0;
CREATE INDEX thread_temporary ON thread (id) WHERE temporary = 1;
