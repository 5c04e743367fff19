package cli

import (
	"context"
	"fmt"
	"net"
	"time"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/store"
	"fawn/web"
	"fawn/web/storage"
)

// clockSkew is the tolerated difference between two clocks.
const clockSkew = 2 * time.Second

// postgreSQL checks the database server, if there is one. free means that the rows can be read.
func (d *doctor) postgreSQL(ctx context.Context, o web.Options, dir string) (free bool) {
	snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
	if err != nil {
		return true // reported with the configuration
	}
	cfg, err := storage.Config(snap, dir)
	if err != nil || cfg.URL == "" {
		return true
	}
	r, err := store.Inspect(ctx, cfg)
	if err != nil {
		d.line("bad", "postgresql", err.Error())
		return false
	}
	wire := "without TLS"
	if r.TLS {
		wire = "with TLS"
	}
	d.line("good", "postgresql", fmt.Sprintf("%s at %s, database %s, %s; it answers in %s", r.Version, r.Address,
		r.Name, wire, r.Away.Round(10*time.Microsecond)))
	if host, _, err := net.SplitHostPort(r.Address); err == nil && !r.TLS && !web.IsLoopback(host) {
		d.line("note", "postgresql", "what goes to another machine can be read on the way; set sslmode=verify-full")
	}
	if r.Pooler != "" {
		d.line("good", "pooler", fmt.Sprintf("transactions go through %s", r.Pooler))
	}
	if r.Unfit != nil {
		d.line("bad", "postgresql", r.Unfit.Error())
	}
	switch {
	case r.Rights != nil:
		d.line("bad", "rights", r.Rights.Error())
	case r.Owned:
		d.line("good", "rights", fmt.Sprintf("the schema %s is %s's", cfg.Schema, r.User))
	default:
		d.line("good", "rights", fmt.Sprintf("%s may create the schema %s", r.User, cfg.Schema))
	}
	d.cluster(snap, r)
	return d.lease(r.Nodes) && r.Unfit == nil && r.Rights == nil
}

// cluster reports differences between servers that share the database.
func (d *doctor) cluster(snap *config.Snapshot, r *store.Report) {
	if r.Skew > clockSkew || r.Skew < -clockSkew {
		d.line("note", "clock", fmt.Sprintf("this machine's clock differs from the database's by %s: times that are "+
			"shown are off; leases are not", r.Skew.Round(100*time.Millisecond)))
	}
	if !snap.File.Cluster.Enabled {
		return
	}
	versions := map[string]bool{}
	for _, n := range r.Nodes {
		versions[n.Version] = true
	}
	if len(versions) > 1 {
		d.line("note", "servers", fmt.Sprintf("servers of %d versions share the database; fine while one "+
			"replaces the other", len(versions)))
	}
	configs := map[string]bool{}
	for _, n := range r.Nodes {
		configs[n.Settings] = true
	}
	delete(configs, "") // not reported
	if len(configs) > 1 {
		d.line("bad", "servers", "the servers have different config.yaml files: give all of them the same one")
	}
}

// lease reports the holder of the database. free means that there is none.
func (d *doctor) lease(nodes []store.Node) (free bool) {
	free = true
	for _, n := range nodes {
		if n.Left <= 0 {
			d.line("note", "lease", fmt.Sprintf("%v is gone, its lease since %s; the next server takes over",
				n, (-n.Left).Round(time.Second)))
			continue
		}
		free = false
		d.line("good", "lease", fmt.Sprintf("%v has the database; its lease is for %s more", n,
			n.Left.Round(time.Second)))
	}
	if len(nodes) == 0 {
		d.line("good", "lease", "no server has the database")
	}
	if !free {
		d.line("note", "database", "in use, so its rows are not checked")
	}
	return free
}
