-- top is the greatest message number a thread ever gave; none is given twice. incarnation tells
-- a thread from one with the same id that was deleted before, so that the two together name a
-- message for ever.
ALTER TABLE thread ADD COLUMN top INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thread ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0;
UPDATE thread SET top = coalesce((SELECT max(n) FROM message WHERE message.thread = thread.id), 0), incarnation = rowid;
