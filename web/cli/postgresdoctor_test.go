package cli_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/webtest"
)

// TestDoctorLooksAtPostgreSQL: whether it can be reached, what the user may, and who has the rows.
func TestDoctorLooksAtPostgreSQL(t *testing.T) {
	url := pgtest.URL(t)
	doctor := func(url string) string { return doctorSays(t, "database: {url: "+url+"}\n") }
	says := func(out string, all ...string) {
		t.Helper()
		saysAll(t, out, all...)
	}
	says(doctor(url), "ok    postgresql", "may create the schema fawn", "no server has", "all references are intact")
	db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Log: slog.New(slog.DiscardHandler)})
	must.Do(t, err)
	defer db.Close()
	says(doctor(url), "the schema fawn is fawn's", "has the database; its lease is for", "not checked")
	says(doctor("postgres://fawn@127.0.0.1:1/none"), "FAIL  postgresql")
}

// TestDoctorKnowsPoolers, and says what one needs.
func TestDoctorKnowsPoolers(t *testing.T) {
	direct := pgtest.URL(t)
	through := pgtest.Pooler(t, direct, 2)
	saysAll(t, doctorSays(t, "database: {url: "+through+"}\n"), "FAIL  postgresql", "set database.listen_url")
	saysAll(t, doctorSays(t, "database: {url: "+through+", listen_url: "+direct+"}\n"), "ok    postgresql",
		"ok    pooler", "transactions go through 127.", "all references are intact")
}

func doctorSays(t *testing.T, config string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "config.yaml")
	must.Do(t, os.WriteFile(conf, []byte(config), 0o600))
	var out bytes.Buffer
	_, err := cli.Doctor(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: conf, Out: &out,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Error(err)
	}
	return out.String()
}

func saysAll(t *testing.T, out string, all ...string) {
	t.Helper()
	webtest.Holds(t, "out", out, all...)
}

// TestDoctorComparesServers that share a database: all are to have the same configuration.
func TestDoctorComparesServers(t *testing.T) {
	url, shared := pgtest.URL(t), t.TempDir()
	for _, sum := range []string{"one", "one", "two"} {
		db, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Cluster: true, Settings: sum,
			Version: "1.0", Log: slog.New(slog.DiscardHandler)})
		must.Do(t, err)
		defer db.Close()
	}
	conf := "database: {url: " + url + "}\nfiles: {dir: " + shared + "}\ncluster: {enabled: true}\n"
	out := doctorSays(t, conf)
	saysAll(t, out, "FAIL  servers", "different config.yaml files")
	if strings.Count(out, "has the database; its lease") != 3 {
		t.Error(out)
	}
}
