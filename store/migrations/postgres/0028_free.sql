-- additive
-- For claims, which go along runs at the front that no server has, the oldest first: those that wait, and those that
-- were handed over. Most runs begin where they were asked for and are in neither.
DROP INDEX run_fronts;
CREATE INDEX run_waiting ON run (created_at, id) WHERE front = 1 AND node = 0 AND status = 'pending';
CREATE INDEX run_handed ON run (created_at, id) WHERE front = 1 AND node = 0 AND status = 'running';
