-- Prompts that people keep, with named fields in their text.
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
