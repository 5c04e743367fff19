package web

import (
	"cmp"
	"errors"
	"strings"

	"fawn/agent/config"
)

// postgreSQL is the address of the database that has everything but files, "" when that is SQLite in
// the data folder. DeerFlow's keys count where database.url is not set.
func postgreSQL(snap *config.Snapshot) (string, error) {
	db := &snap.File.Database
	address := string(db.URL)
	if address == "" && db.Backend == "postgres" {
		env, _ := snap.Env("POSTGRES_URI")
		if address = cmp.Or(string(db.PostgresURL), env); address == "" {
			return "", errors.New("database.backend is postgres, and nothing says where that is: set database.url, " +
				"database.postgres_url or POSTGRES_URI")
		}
	}
	if address == "" {
		return "", nil
	}
	scheme, rest, ok := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+") // as SQLAlchemy names the driver
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return "", errors.New("database.url must be an address like postgres://user:password@host/name")
	}
	return scheme + "://" + rest, nil
}
