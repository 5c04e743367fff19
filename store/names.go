package store

import "cmp"

// translate is [Translate] for errors of any kind of database.
func translate(err error) error {
	return Translate(err, func(err error) error { return cmp.Or(sqliteCause(err), postgresCause(err)) })
}
