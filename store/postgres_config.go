package store

import (
	"context"
	"database/sql"
	"fmt"
)

// NodeConfig is which configuration a server has.
type NodeConfig struct {
	ID         int64
	Host, Addr string
	Sum        string // hash of its text, "" if not reported
}

// NodeConfigs returns the configuration hashes of all servers of a database.
func (db *DB) NodeConfigs(ctx context.Context) (list []NodeConfig, err error) {
	const query = `SELECT id, host, address, settings FROM node ORDER BY id`
	err = db.each(ctx, query, nil, func(rows *sql.Rows) (bool, error) {
		var n NodeConfig
		err := rows.Scan(&n.ID, &n.Host, &n.Addr, &n.Sum)
		list = append(list, n)
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read configurations of servers: %w", err)
	}
	return list, nil
}

// SayConfig reports which configuration this server has.
func (db *DB) SayConfig(ctx context.Context, sum string) error {
	p := &batch{setting: db.w.setting()}
	p.add("say configuration of node", "", `UPDATE node SET settings = ? WHERE id = ?`, sum, p.self)
	p.measure()
	return db.w.do(ctx, &job{batch: p})
}
