-- A project is a folder of chats with files and settings of its own.
CREATE TABLE project (
  id         TEXT PRIMARY KEY NOT NULL,
  owner      TEXT NOT NULL DEFAULT 'default',
  name       TEXT NOT NULL,
  settings   TEXT NOT NULL,              -- an object
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX project_by_owner ON project (owner, id);

-- Who else may use a project. Its owner has no row.
CREATE TABLE project_member (
  project TEXT NOT NULL,
  member  TEXT NOT NULL,
  role    TEXT NOT NULL,                 -- 'viewer' or 'editor'
  PRIMARY KEY (project, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_member_by_member ON project_member (member, project);

ALTER TABLE thread ADD COLUMN project TEXT NOT NULL DEFAULT ''; -- '' for a chat of its own
CREATE INDEX thread_by_project ON thread (project, owner, updated_at, id) WHERE project <> '';
