-- Where the sandboxes of threads are, and since when runs wait for a server with room, matters where there are several.
ALTER TABLE thread ADD COLUMN box INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thread ADD COLUMN box_wish INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN ready INTEGER NOT NULL DEFAULT 0;
