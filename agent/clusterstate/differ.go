package clusterstate

import (
	"context"
	"slices"
	"strings"
	"time"
)

// compareEvery is the interval of comparing the servers' configurations.
const compareEvery = 10 * time.Second

// Compare publishes a hash of this server's configuration, returned by sum, and compares it with the others'. Call it
// before Run.
func (r *Rows) Compare(sum func() string) { r.sum = sum }

// Differing returns the other servers that have another configuration.
func (r *Rows) Differing() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.differ
}

// compare publishes and compares.
func (r *Rows) compare(ctx context.Context) error {
	if r.sum == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	mine := r.sum()
	list, err := r.db.NodeConfigs(ctx)
	if err != nil {
		return err
	}
	var differ []string
	for _, n := range list {
		switch {
		case n.ID == r.db.Self():
			if n.Sum != mine {
				if err := r.db.SayConfig(ctx, mine); err != nil {
					return err
				}
			}
		case n.Sum != "" && n.Sum != mine:
			differ = append(differ, strings.TrimSpace(n.Host+" "+n.Addr))
		}
	}
	r.mu.Lock()
	old := r.differ
	r.differ = differ
	r.mu.Unlock()
	if slices.Equal(old, differ) {
		return nil
	}
	if len(differ) > 0 {
		r.log.Warn("config.yaml differs between servers", "servers", differ)
	} else {
		r.log.Info("config.yaml is the same on all servers again")
	}
	return nil
}
