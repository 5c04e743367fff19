package store

import (
	"cmp"
	"context"

	"fawn/store/commit"
	"fawn/store/folder"
	"fawn/store/postgres"
	"fawn/store/sqlite"
	"fawn/store/wake"
)

// Errors of this package, for errors.Is. Every error that has one of these causes wraps it.
var (
	ErrNotFound = commit.ErrNotFound
	ErrExists   = commit.ErrExists
	ErrConflict = commit.ErrConflict
	ErrBusy     = commit.ErrBusy
	ErrFull     = commit.ErrFull
	ErrAway     = commit.ErrAway
	ErrClosed   = commit.ErrClosed
	ErrFenced   = postgres.ErrFenced
)

// translate is [commit.Translate] for errors of any kind of database.
func translate(err error) error {
	return commit.Translate(err, func(err error) error { return cmp.Or(sqlite.Cause(err), postgres.Cause(err)) })
}

// What the parts of the store say, under the names that the program knows.
type (
	// Meter observes this server's work on a shared database.
	Meter = commit.Meter
	// NoMeter is a Meter that observes nothing.
	NoMeter = commit.NoMeter
	// Room is the used part of the database file, in bytes.
	Room = commit.Room

	// LockedError means that another process uses the data folder.
	LockedError = folder.LockedError
	// DamagedError means that the database file can't be opened.
	DamagedError = sqlite.DamagedError
	// VersionError means that a newer program wrote the database file.
	VersionError = sqlite.VersionError
	// Copied describes the contents of a copy of a database.
	Copied = sqlite.Copied

	// Node is a server that has a database.
	Node = postgres.Node
	// NodeStatus is this process's lease.
	NodeStatus = postgres.NodeStatus
	// TakenError means that another server uses the database.
	TakenError = postgres.TakenError
	// SchemaError means that the program and the database's tables don't match.
	SchemaError = postgres.SchemaError
	// Report describes a PostgreSQL before a server starts with it.
	Report = postgres.Report
	// Pulse is the result of a poll: pending work of a server.
	Pulse = postgres.Pulse
	// Orphan is an active run whose server is gone.
	Orphan = postgres.Orphan

	stmt = commit.Stmt
)

// Numbers and names of the parts.
const (
	// FileName is the name of the database in a data folder.
	FileName = folder.FileName
	// DefaultLease is the time without renewal after which another node may take over.
	DefaultLease = postgres.DefaultLease
	// BoxPatience is how long a due run is reserved for the server with its thread's sandbox.
	BoxPatience = postgres.BoxPatience
	// PlanSpace holds requested plan changes for runs of other servers.
	PlanSpace = postgres.PlanSpace
	// Leap is the number of event numbers that threads skip after a standby took over.
	Leap = postgres.Leap
)

// WakeKind is the subject of a wake-up.
type WakeKind = wake.Kind

// Wake is a hint that something may have changed. It may be late, repeated or lost, so listeners also poll.
type Wake = wake.Hint

// Kinds of wake-ups.
const (
	WakeTail    = wake.Tail    // a server has written to its tail
	WakeRuns    = wake.Runs    // runs or title of a thread have changed; IDs are threads
	WakeClaim   = wake.Claim   // a run can be claimed
	WakeWish    = wake.Wish    // a run got a wish; IDs are runs
	WakeSetting = wake.Setting // a setting has changed
	WakeSpace   = wake.Space   // values have changed; IDs are their spaces
	WakeNote    = wake.Note    // notes were added or removed; IDs are their names
	WakeBox     = wake.Box     // a sandbox should end or has ended; IDs are threads
)

func clean(s string) string { return commit.Clean(s) }

func cleanAll(args []any) { commit.CleanAll(args) }

// Schema returns the newest schema version supported by this program.
func Schema() int { return sqlite.Schema() }

// Copy writes a consistent, compact copy of the database of a data folder to path, which must not exist. It doesn't
// need the folder's lock: a server may continue writing to it.
func Copy(ctx context.Context, dir, path string) error { return sqlite.Copy(ctx, dir, path) }

// OpenCopied opens a copy of a database for reading. The caller closes it.
func OpenCopied(ctx context.Context, path string) (*Copied, error) {
	return sqlite.OpenCopied(ctx, path)
}

// Hold locks a data folder without opening its database, until release. A folder used by another process returns a
// *LockedError.
func Hold(dir string) (release func() error, err error) { return folder.Hold(dir) }

// Holder returns the process that has a data folder, if one has.
func Holder(dir string) (*LockedError, error) { return folder.Holder(dir) }

// Inspect examines the database of cfg.URL without changes.
func Inspect(ctx context.Context, cfg Config) (*Report, error) {
	return postgres.Inspect(ctx, cfg.postgres(""))
}

// MigrateTables migrates the tables of cfg.URL and does nothing else. Incompatible servers must be stopped first. It
// returns the old and the new version.
func MigrateTables(ctx context.Context, cfg Config) (from, to int, err error) {
	return postgres.MigrateTables(ctx, cfg.postgres(""))
}
