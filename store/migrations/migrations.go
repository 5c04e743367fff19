// Package migrations has the tables of both kinds of databases.
//
// A change is a file in sqlite and one with the same number in postgres. sqlite.sql is what all those of SQLite lead to,
// for new databases; TestTheWholeSchemaIsWhatMigrationsMake writes it with -update. A file of postgres that begins with
// "-- additive" is one that older programs may run beside. Code that reads or writes rows belongs in package store.
package migrations

import "embed"

// SQLite has sqlite/NNNN_name.sql and sqlite.sql.
//
//go:embed sqlite/*.sql sqlite.sql
var SQLite embed.FS

// Postgres has postgres/NNNN_name.sql.
//
//go:embed postgres/*.sql
var Postgres embed.FS
