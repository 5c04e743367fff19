package store

import "context"

// Inspect examines the database of cfg.URL without changes.
func Inspect(ctx context.Context, cfg Config) (*Report, error) { return inspect(ctx, cfg.postgres("")) }

// MigrateTables migrates the tables of cfg.URL and does nothing else. Incompatible servers must be stopped first. It
// returns the old and the new version.
func MigrateTables(ctx context.Context, cfg Config) (from, to int, err error) {
	return migrateTables(ctx, cfg.postgres(""))
}
