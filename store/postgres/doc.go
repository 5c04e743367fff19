// Package postgres keeps the rows of the store in a schema of PostgreSQL, which several servers may share.
//
// Begin with open.go, which connects and enters, and engine.go, which carries out commits behind a fence. Then
//
//   - lease.go: this server's row, which it renews, and the rows of others, which it evicts once their leases are over;
//   - failover.go: a standby that takes over, and what it may lack;
//   - pulse.go: the question that each server asks every second;
//   - claim.go: which runs this server gets, and whose turn it is;
//   - cluster.go: statements beside the writer: claims, duties of a single server, sandboxes;
//   - wake.go: hints for other servers by NOTIFY;
//   - read.go, pool.go and wire.go: connections that lose nothing, also behind PgBouncer;
//   - migrate.go, report.go: changes of tables; what doctor is told before a server starts.
//
// Everything that only PostgreSQL has belongs here. SQL that both databases carry out is in package store.
package postgres
