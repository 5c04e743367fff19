package storage

import (
	"context"
	"fmt"
	"log/slog"

	"fawn/agent/config"
	"fawn/agent/shared"
	"fawn/store"
)

// Share has what people change kept where all servers of a database see it, and returns that. A server that has the
// database for itself keeps it in files, and gets nil.
func Share(ctx context.Context, db *store.DB, conf *config.Store, log *slog.Logger) (*shared.Rows, error) {
	if !db.Clustered() {
		return nil, nil
	}
	text, _ := conf.Current().Env(shared.KeyVariable)
	keys, err := shared.ParseKeys(text)
	var rows *shared.Rows
	if err == nil {
		rows, err = shared.Open(ctx, db, keys, log)
	}
	if err == nil {
		err = conf.Share(ctx, rows)
	}
	if err != nil {
		return nil, fmt.Errorf("settings that several servers share: %w", err)
	}
	return rows, nil
}
