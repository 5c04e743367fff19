-- additive
-- A project is a folder of chats with files and settings of its own.
CREATE TABLE project (
    id         text COLLATE "C" PRIMARY KEY,
    owner      text COLLATE "C" NOT NULL DEFAULT 'default',
    name       text COLLATE "C" NOT NULL,
    settings   text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);
CREATE INDEX project_by_owner ON project (owner, id);

-- Who else may use a project. Its owner has no row.
CREATE TABLE project_member (
    project text COLLATE "C" NOT NULL,
    member  text COLLATE "C" NOT NULL,
    role    text COLLATE "C" NOT NULL,
    PRIMARY KEY (project, member)
);
CREATE INDEX project_member_by_member ON project_member (member, project);

ALTER TABLE thread ADD COLUMN project text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX thread_by_project ON thread (project, owner, updated_at, id) WHERE project <> '';
