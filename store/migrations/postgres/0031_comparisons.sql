-- additive
-- Questions that several models answered side by side, and which answer was preferred. chosen is the thread that was
-- preferred, '' for none yet; places count from 0.
CREATE TABLE comparison (
  id text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  chosen text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX comparison_by_owner ON comparison (owner);
CREATE TABLE comparison_side (
  comparison text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  thread text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  PRIMARY KEY (comparison, place)
);
