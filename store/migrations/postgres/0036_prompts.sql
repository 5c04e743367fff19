-- additive
-- Prompts that people keep, with named fields in their text.
CREATE TABLE saved_prompt (
    id         text COLLATE "C" PRIMARY KEY,
    owner      text COLLATE "C" NOT NULL DEFAULT 'default',
    name       text COLLATE "C" NOT NULL,
    about      text COLLATE "C" NOT NULL,
    text       text COLLATE "C" NOT NULL,
    shared     text COLLATE "C" NOT NULL DEFAULT '',
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX saved_prompt_by_owner ON saved_prompt (owner, name);
CREATE INDEX saved_prompt_shared ON saved_prompt (shared) WHERE shared <> '';
