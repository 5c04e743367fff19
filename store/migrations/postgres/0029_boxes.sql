-- additive
-- box is the node with a sandbox of the thread whose processes are kept between commands, 0 for none. It counts as long as
-- that node is there: whoever evicts it has it count no more in the same transaction. box_wish is the node whose run needs
-- that sandbox to end first; it counts as long as that run is at the front.
ALTER TABLE thread ADD COLUMN box bigint NOT NULL DEFAULT 0;
ALTER TABLE thread ADD COLUMN box_wish bigint NOT NULL DEFAULT 0;
CREATE INDEX thread_box_wish ON thread (box) WHERE box_wish > 0;

-- ready is when a run was last left to whichever node has room, in milliseconds since 1970 by the database's clock. For a
-- moment after that only the node with the thread's sandbox may begin it.
ALTER TABLE run ADD COLUMN ready bigint NOT NULL DEFAULT 0;

CREATE FUNCTION run_is_ready() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.ready := extract(epoch FROM clock_timestamp()) * 1000;
  RETURN NEW;
END $$;

CREATE TRIGGER run_ready_made BEFORE INSERT ON run
  FOR EACH ROW WHEN (NEW.front = 1 AND NEW.node = 0 AND NEW.status = 'pending') EXECUTE FUNCTION run_is_ready();
CREATE TRIGGER run_ready_moved BEFORE UPDATE OF front, node ON run
  FOR EACH ROW WHEN (NEW.front = 1 AND NEW.node = 0 AND NEW.status = 'pending' AND (OLD.front = 0 OR OLD.node > 0))
  EXECUTE FUNCTION run_is_ready();
