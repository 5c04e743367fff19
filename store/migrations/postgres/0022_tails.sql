-- The tail has rows of several servers. The upper bits of an id, all but 40, are the server's number, and each
-- counts its own rows from there, one for each group of changes: whether a group was written is whether its
-- row is there, or a later one.
DROP TABLE node_group;

CREATE FUNCTION tail_node(id bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$ SELECT id >> 40 $$;

-- tail_from is a row in the tail of the server that has the run, before all that have something of it, or 0.
ALTER TABLE run ADD COLUMN tail_from bigint NOT NULL DEFAULT 0;

CREATE FUNCTION run_begins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.tail_from := coalesce((SELECT max(id) FROM tail WHERE id >= NEW.node << 40 AND id < (NEW.node + 1) << 40), 0);
  RETURN NEW;
END $$;

CREATE TRIGGER run_made BEFORE INSERT ON run
  FOR EACH ROW WHEN (NEW.node > 0) EXECUTE FUNCTION run_begins();
CREATE TRIGGER run_moved BEFORE UPDATE OF node ON run
  FOR EACH ROW WHEN (NEW.node > 0 AND NEW.node <> OLD.node) EXECUTE FUNCTION run_begins();
