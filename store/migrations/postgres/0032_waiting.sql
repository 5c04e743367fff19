-- additive
-- For claims that take of each owner: the runs of an owner that wait, the oldest first, and one owner after the other.
CREATE INDEX run_waiting_of ON run (owner, created_at, id) WHERE front = 1 AND node = 0 AND status = 'pending';
