-- A node is one start of a server. Its row is there as long as it may write: it renews expires, by the
-- database's clock, and whoever finds the lease ended may take the row away. folder is the data folder it
-- holds, format the newest form of events it reads.
DELETE FROM node;
ALTER TABLE node DROP COLUMN committed;
ALTER TABLE node ADD COLUMN folder text NOT NULL;
ALTER TABLE node ADD COLUMN version text NOT NULL;
ALTER TABLE node ADD COLUMN format bigint NOT NULL;
ALTER TABLE node ADD COLUMN settings text NOT NULL;
ALTER TABLE node ADD COLUMN expires timestamptz NOT NULL;

-- The last group of changes that a node has written, by which it finds out what became of one during which
-- the connection was lost. Its row is not the node's, as renewals must not wait for commits.
CREATE TABLE node_group (
  node   bigint PRIMARY KEY REFERENCES node ON DELETE CASCADE,
  number bigint NOT NULL
) WITH (fillfactor = 50);

-- node_class is the first half of the names of this schema's locks.
CREATE FUNCTION node_class() RETURNS int STABLE LANGUAGE sql AS
  $$ SELECT hashtext('fawn node ' || current_schema()) $$;

-- fence begins whatever a node writes, and fails when the node was evicted. Its lock lasts to the end of the
-- transaction and leaves no trace in any row. An eviction takes it exclusively, so it waits for what is under
-- way, and what comes later finds no row, for which it must see what was committed while it waited.
CREATE FUNCTION fence(n bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'a node writes with READ COMMITTED only' USING ERRCODE = '25000';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(node_class(), n::int);
  PERFORM 1 FROM node WHERE id = n;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'node % was evicted', n USING ERRCODE = 'FW001';
  END IF;
END $$;

-- evict takes a node's row away if its lease has ended or it held the folder that the caller holds now. True
-- says that it did. lock_timeout ends the wait for a transaction that does not end.
CREATE FUNCTION evict(n bigint, held text) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
BEGIN
  PERFORM 1 FROM node WHERE id = n AND (expires < clock_timestamp() OR folder = held AND held <> '');
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(node_class(), n::int);
  DELETE FROM node WHERE id = n AND (expires < clock_timestamp() OR folder = held AND held <> '');
  RETURN FOUND; -- it may have renewed its lease meanwhile
END $$;

-- unblock ends the connections that keep an eviction waiting.
CREATE FUNCTION unblock(n bigint) RETURNS bigint LANGUAGE sql AS $$
  SELECT count(pg_terminate_backend(pid, 1000)) FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid() AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = node_class()::bigint & 4294967295 AND objid::bigint = n
$$;
