-- The text of a thread's files in passages, and the index of their words. Both are made from
-- the files and can be made again. stamp tells what the text of a file was made of; it is empty
-- while not all of the file's passages are there.
CREATE TABLE passage_file (
  thread TEXT NOT NULL,
  file   TEXT NOT NULL,
  stamp  TEXT NOT NULL,
  bytes  INTEGER NOT NULL,
  PRIMARY KEY (thread, file)
) STRICT, WITHOUT ROWID;
CREATE TABLE passage (
  id      INTEGER PRIMARY KEY,
  thread  TEXT NOT NULL,
  file    TEXT NOT NULL,
  kind    TEXT NOT NULL,
  page    INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  last    INTEGER NOT NULL,
  heading TEXT NOT NULL,
  body    TEXT NOT NULL
) STRICT;
CREATE INDEX passage_by_file ON passage (thread, file);

-- What a user deletes is not to live on in the index, hence secure-delete.
CREATE VIRTUAL TABLE passage_word USING fts5 (words, content = '',
  tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co' tokenchars '_'");
INSERT INTO passage_word (passage_word, rank) VALUES ('secure-delete', 1);
