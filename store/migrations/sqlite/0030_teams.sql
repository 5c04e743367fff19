-- Groups of accounts with what they may use, and announcements. used keeps what deleted runs took, as a limit for a day
-- counts it all the same.
CREATE TABLE team (
  id         TEXT PRIMARY KEY NOT NULL,
  name       TEXT NOT NULL UNIQUE,
  rules      TEXT NOT NULL,          -- JSON, see agent/access
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE team_member (
  team   TEXT NOT NULL,
  member TEXT NOT NULL,              -- the id of an account, or role:NAME
  PRIMARY KEY (team, member)
) STRICT, WITHOUT ROWID;
CREATE INDEX team_member_of ON team_member (member);
CREATE TABLE announcement (
  id         TEXT PRIMARY KEY NOT NULL,
  text       TEXT NOT NULL,
  level      TEXT NOT NULL,          -- info or warning
  ends_at    INTEGER NOT NULL,       -- 0 for no end
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE announcement_seen (
  owner        TEXT NOT NULL,
  announcement TEXT NOT NULL,
  PRIMARY KEY (owner, announcement)
) STRICT, WITHOUT ROWID;
CREATE TABLE used (
  id     TEXT PRIMARY KEY NOT NULL,  -- of the run, or of the row of spending
  owner  TEXT NOT NULL,
  at     INTEGER NOT NULL,
  runs   INTEGER NOT NULL,
  tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_by_owner ON used (owner, at);
CREATE INDEX run_by_owner ON run (owner, created_at, id);
CREATE TRIGGER run_used BEFORE DELETE ON run WHEN OLD.created_at > (unixepoch() - 172800) * 1000 BEGIN
  INSERT INTO used(id, owner, at, runs, tokens) SELECT OLD.id, OLD.owner, OLD.created_at, OLD.parent = '',
    coalesce((SELECT sum(total) FROM spent WHERE run = OLD.id AND caller <> 'middleware'), 0)
    WHERE true ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER spending_used BEFORE DELETE ON spending WHEN OLD.at > (unixepoch() - 172800) * 1000 BEGIN
  INSERT INTO used(id, owner, at, runs, tokens) VALUES ('spending ' || OLD.id, OLD.owner, OLD.at, 0, OLD.total)
    ON CONFLICT DO NOTHING;
END;
