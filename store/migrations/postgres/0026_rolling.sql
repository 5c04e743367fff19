-- additive
-- least is the oldest schema version whose programs can use the tables after a migration, NULL for its own. schema is
-- that of a node's program, 0 where it is not known.
ALTER TABLE migration ADD COLUMN least bigint;
ALTER TABLE node ADD COLUMN schema bigint NOT NULL DEFAULT 0;
