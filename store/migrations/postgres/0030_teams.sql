-- additive
-- Groups of accounts with what they may use, and announcements. used keeps what deleted runs took, as a limit for a day
-- counts it all the same.
CREATE TABLE team (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  rules text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE TABLE team_member (
  team text COLLATE "C" NOT NULL,
  member text COLLATE "C" NOT NULL,
  PRIMARY KEY (team, member)
);
CREATE INDEX team_member_of ON team_member (member);
CREATE TABLE announcement (
  id text COLLATE "C" PRIMARY KEY,
  text text COLLATE "C" NOT NULL,
  level text COLLATE "C" NOT NULL,
  ends_at bigint NOT NULL,
  created_at bigint NOT NULL
);
CREATE TABLE announcement_seen (
  owner text COLLATE "C" NOT NULL,
  announcement text COLLATE "C" NOT NULL,
  PRIMARY KEY (owner, announcement)
);
CREATE TABLE used (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  runs bigint NOT NULL,
  tokens bigint NOT NULL
);
CREATE INDEX used_by_owner ON used (owner, at);
CREATE INDEX run_by_owner ON run (owner, created_at, id);

CREATE FUNCTION run_used() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO used(id, owner, at, runs, tokens) SELECT OLD.id, OLD.owner, OLD.created_at,
    CASE WHEN OLD.parent = '' THEN 1 ELSE 0 END,
    coalesce((SELECT sum(total) FROM spent WHERE run = OLD.id AND caller <> 'middleware'), 0)
    ON CONFLICT DO NOTHING;
  RETURN OLD;
END $$;
CREATE TRIGGER run_used BEFORE DELETE ON run
  FOR EACH ROW WHEN (OLD.created_at > (extract(epoch FROM now()) - 172800) * 1000) EXECUTE FUNCTION run_used();
CREATE FUNCTION spending_used() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO used(id, owner, at, runs, tokens) VALUES ('spending ' || OLD.id, OLD.owner, OLD.at, 0, OLD.total)
    ON CONFLICT DO NOTHING;
  RETURN OLD;
END $$;
CREATE TRIGGER spending_used BEFORE DELETE ON spending
  FOR EACH ROW WHEN (OLD.at > (extract(epoch FROM now()) - 172800) * 1000) EXECUTE FUNCTION spending_used();
