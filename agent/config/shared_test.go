package config_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/clusterstate"
	"fawn/agent/config"
	"fawn/agent/config/extensions"
	"fawn/store"
	"fawn/store/pgtest"
)

const sealKey = "a key that is long enough for sealing"

// member is one of several servers that have a database: its configuration, and what it shares.
func member(t *testing.T, url, key string, f files) (*config.Store, *clusterstate.Rows, string) {
	t.Helper()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: t.TempDir(), URL: url, Schema: "config", Cluster: true,
		Log: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { db.Close() })
	keys := must.Get(clusterstate.ParseKeys(key))(t)
	rows := must.Get(clusterstate.Open(t.Context(), db, keys, slog.New(slog.DiscardHandler)))(t)
	s, root := open(t, f, nil)
	must.Do(t, s.Share(t.Context(), rows))
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { rows.Run(ctx) })
	t.Cleanup(func() { stop(); work.Wait() })
	return s, rows, root
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestServersShareSettings: what one changes counts for the others, the keys with it, and no file is written.
func TestServersShareSettings(t *testing.T) {
	url := pgtest.URL(t)
	first := files{"config.yaml": ownersModel,
		"data/settings.yaml": "title: {max_words: 7}\n" +
			"models: [{name: old, use: openai, api_key: $FAWN_MODEL_OLD_KEY}]\n",
		"data/secrets.env":            "FAWN_MODEL_OLD_KEY=sk-imported\n",
		"data/extensions_config.json": `{"skills":{"a":{"enabled":false}}}`}
	a, rowsA, rootA := member(t, url, sealKey, first)
	b, _, rootB := member(t, url, sealKey, files{"config.yaml": ownersModel,
		"data/settings.yaml": "title: {max_words: 19}\n", "data/secrets.env": "OTHER=x\n"})
	skills := b.Current().Extensions.Skills
	if m := setting(t, b, "old"); m.APIKey != "sk-imported" || words(b) != 7 || len(skills) != 1 {
		t.Errorf("the second server has not what the first one brought: %+v, %d", m, words(b))
	}
	if _, ok := b.Current().Env("OTHER"); ok {
		t.Error("the second server goes on with its own secrets")
	}
	must.Do(t, a.AddModel(config.ModelEdit{Name: "new", Key: secret("sk-very-secret"),
		Fields: map[string]any{"use": "openai", "headers": map[string]any{"X-Auth": "header-secret"}}}))
	eventually(t, "the other server has the new model", func() bool { _, ok := b.Current().Model("new"); return ok })
	if m := setting(t, b, "new"); m.APIKey != "sk-very-secret" || m.Headers["X-Auth"] != "header-secret" {
		t.Errorf("the other server has %+v", m)
	}
	must.Do(t, b.RemoveModel("old"))
	eventually(t, "the first server has lost it", func() bool { _, ok := a.Current().Model("old"); return !ok })
	left := string(rowsA.Get("secrets.env").Body)
	if _, ok := a.Current().Env("FAWN_MODEL_OLD_KEY"); ok || strings.Contains(left, "imported") {
		t.Error("the key of a model that was removed is still there")
	}
	for _, root := range []string{rootA, rootB} {
		for _, name := range []string{"settings.yaml", "secrets.env", "extensions_config.json"} {
			b, err := os.ReadFile(filepath.Join(root, "data", name))
			if text := string(b); err == nil && (strings.Contains(text, "secret") || strings.Contains(text, "new")) {
				t.Errorf("%s was written: %s", name, b)
			}
		}
	}
}

// TestEditsOnTwoServersAtOnceAllCount, of models as of MCP servers and skills.
func TestEditsOnTwoServersAtOnceAllCount(t *testing.T) {
	url := pgtest.URL(t)
	a, _, _ := member(t, url, sealKey, nil)
	b, _, _ := member(t, url, sealKey, nil)
	var wg sync.WaitGroup
	for i, s := range []*config.Store{a, b} {
		wg.Go(func() {
			for n := range 4 {
				name := fmt.Sprintf("m-%d-%d", i, n)
				must.Report(t, s.AddModel(config.ModelEdit{Name: name, Key: secret("key of " + name)}))
				must.Report(t, s.EditServers(func(list config.Servers) (config.Servers, error) {
					list[name] = map[string]any{"url": "https://example.org/mcp"}
					return list, nil
				}))
				must.Report(t, s.Extensions().Edit(func(o extensions.Object) (extensions.Object, error) {
					return o.With("x"+name, []byte("1")), nil
				}, nil))
			}
		})
	}
	wg.Wait()
	for _, s := range []*config.Store{a, b} {
		eventually(t, "all edits are there", func() bool {
			o, err := s.Extensions().Read()
			return err == nil && len(o) == 9 && len(s.Current().File.Models) == 8 &&
				len(s.Current().Extensions.MCPServers) == 8
		})
		for _, m := range s.Current().File.Models {
			if m.APIKey.Value() != "key of "+m.Name {
				t.Errorf("%s has the key %q", m.Name, m.APIKey.Value())
			}
		}
	}
}

// TestSecretsNeedAKeyWhereServersShareThem: they are refused with what to do, and all else works.
func TestSecretsNeedAKeyWhereServersShareThem(t *testing.T) {
	url := pgtest.URL(t)
	a, rows, _ := member(t, url, "", files{"data/secrets.env": "MINE=kept\n"})
	if v, _ := a.Current().Env("MINE"); v != "kept" {
		t.Errorf("a secret in a file does not count any more: %q", v)
	}
	var wrong *config.EditError
	var bad *config.BadServers
	for what, err := range map[string]error{
		"key":     a.AddModel(config.ModelEdit{Name: "x", Key: secret("very-secret")}),
		"headers": a.AddModel(config.ModelEdit{Name: "x", Fields: map[string]any{"headers": map[string]any{"A": "very-secret"}}}),
		"address": a.AddModel(config.ModelEdit{Name: "x", Fields: map[string]any{"base_url": "https://x?key=very-secret"}}),
		"bot":     a.SetChannel("telegram", nil, map[string]config.Secret{"bot_token": "very-secret"}),
		"server": a.EditServers(func(list config.Servers) (config.Servers, error) {
			list["x"] = map[string]any{"url": "https://x", "headers": map[string]any{"A": "very-secret"}}
			return list, nil
		}),
	} {
		if !errors.As(err, &wrong) && !errors.As(err, &bad) || !strings.Contains(err.Error(), "FAWN_SECRET_KEY") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := a.AddModel(config.ModelEdit{Name: "y", Key: secret("$OPENAI_API_KEY")}); err != nil {
		t.Errorf("a variable is refused: %v", err)
	}
	if err := a.EditServers(func(list config.Servers) (config.Servers, error) {
		list["x"] = map[string]any{"url": "https://x", "headers": map[string]any{"A": "$TOKEN"}}
		return list, nil
	}); err != nil {
		t.Errorf("a variable is refused: %v", err)
	}
	for _, name := range rows.Names("") {
		if strings.Contains(string(rows.Get(name).Body), "very-secret") {
			t.Errorf("%s has it all the same", name)
		}
	}
}

// TestAChangeOfAModelIsNotLaidOverAnother: whoever moves a model has seen what it was.
func TestAChangeOfAModelIsNotLaidOverAnother(t *testing.T) {
	url := pgtest.URL(t)
	a, _, _ := member(t, url, sealKey, nil)
	b, _, _ := member(t, url, sealKey, nil)
	must.Do(t, a.AddModel(config.ModelEdit{Name: "m", Key: secret("one")}))
	eventually(t, "the other server has the model", func() bool { _, ok := b.Current().Model("m"); return ok })
	var lost, won int
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, s := range []*config.Store{a, b} {
		wg.Go(func() {
			for n := range 5 {
				fields := map[string]any{"max_tokens": float64(1000 + n)}
				err := s.ChangeModel(config.ModelEdit{Name: "m", Fields: fields})
				mu.Lock()
				if err == nil {
					won++
				} else if lost++; !errors.Is(err, config.ErrChanged) {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if won == 0 {
		t.Errorf("won %d, lost %d", won, lost)
	}
}
