-- Who may use the server, once it asks. What a user owns bears its id as owner; the first
-- user's is 'default', which owned all before there were accounts. Secrets are kept as hashes.
CREATE TABLE user (
  id         TEXT NOT NULL PRIMARY KEY,
  email      TEXT NOT NULL UNIQUE,
  name       TEXT NOT NULL,
  role       TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'user')),
  password   TEXT NOT NULL,
  disabled   INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
  id         TEXT NOT NULL PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE,
  user       TEXT NOT NULL,
  device     TEXT NOT NULL,
  ip         TEXT NOT NULL,
  lasting    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_user ON session (user, used_at);

CREATE TABLE token (
  id         TEXT NOT NULL PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE,
  user       TEXT NOT NULL,
  name       TEXT NOT NULL,
  scope      TEXT NOT NULL CHECK (scope IN ('read', 'write')),
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX token_by_user ON token (user, created_at);

-- Links that can be used once: to set the server up, to join it, to set a new password.
CREATE TABLE link (
  hash       BLOB NOT NULL PRIMARY KEY,
  kind       TEXT NOT NULL CHECK (kind IN ('setup', 'invite', 'reset')),
  user       TEXT NOT NULL DEFAULT '',
  email      TEXT NOT NULL DEFAULT '',
  role       TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who a user is to services that vouch for people.
CREATE TABLE identity (
  issuer     TEXT NOT NULL,
  subject    TEXT NOT NULL,
  user       TEXT NOT NULL,
  email      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_by_user ON identity (user);

-- What proves a user besides a password: secrets of authenticator apps, recovery codes, passkeys.
-- ref finds one by what a device presents; step is the last one used, which cannot be again.
CREATE TABLE factor (
  id         TEXT NOT NULL PRIMARY KEY,
  user       TEXT NOT NULL,
  kind       TEXT NOT NULL CHECK (kind IN ('totp', 'recovery', 'passkey')),
  ref        TEXT NOT NULL,
  name       TEXT NOT NULL,
  data       BLOB NOT NULL,
  step       INTEGER NOT NULL DEFAULT 0,
  confirmed  INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  used_at    INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX factor_by_ref ON factor (kind, ref) WHERE ref <> '';
CREATE INDEX factor_by_user ON factor (user, kind);
