package config_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/config"
)

func open(t *testing.T, f files, env map[string]string) (*config.Store, string) {
	t.Helper()
	o, root := setup(t, f, env)
	s := must.Get(config.Open(o, slog.New(slog.NewTextHandler(io.Discard, nil))))(t)
	return s, root
}

func words(s *config.Store) int { return s.Current().File.Title.MaxWords }

func TestAnEditIsTakenAndABadOneIsNot(t *testing.T) {
	s, root := open(t, files{"config.yaml": "title: {max_words: 1}\n"}, nil)
	if s.Poll() {
		t.Fatal("nothing changed, yet Poll reports a change")
	}
	first := s.Current()
	write(t, root, files{"config.yaml": "title: {max_words: 2}\n"}) // same size, same second
	if !s.Poll() || words(s) != 2 || first.File.Title.MaxWords != 1 {
		t.Fatalf("after a good edit: %d, the old snapshot has %d", words(s), first.File.Title.MaxWords)
	}
	write(t, root, files{"config.yaml": "title: {max_words: x}\n"})
	if s.Poll() || words(s) != 2 {
		t.Fatalf("after a bad edit: %d", words(s))
	}
	p := s.Problem()
	if !strings.Contains(p, "the last valid one stays in effect") ||
		!strings.Contains(p, "config.yaml:1:20: title.max_words must be a whole number") {
		t.Errorf("problem: %s", p)
	}
	if s.Poll() || s.Problem() == "" {
		t.Error("the problem is forgotten although the file is still bad")
	}
	write(t, root, files{"config.yaml": "title: {max_words: 3}\n"})
	if !s.Poll() || words(s) != 3 || s.Problem() != "" {
		t.Errorf("after the repair: %d, problem %q", words(s), s.Problem())
	}
}

func TestEveryFileIsWatched(t *testing.T) {
	s, root := open(t, nil, nil)
	steps := []struct {
		name  string
		files files
		check func(*config.Snapshot) bool
	}{
		{"DIR/config.yaml appears", files{"data/config.yaml": "title: {max_words: $W}\n"}, func(c *config.Snapshot) bool { return c.ConfigPath != "" && len(c.Warnings) == 1 }},
		{"secrets", files{"data/secrets.env": "W=5\n"}, func(c *config.Snapshot) bool { return c.File.Title.MaxWords == 5 }},
		{"settings", files{"data/settings.yaml": "title: {max_chars: 33}\n"}, func(c *config.Snapshot) bool { return c.File.Title.MaxChars == 33 }},
		{"extensions", files{"data/extensions_config.json": `{"skills":{"a":{}}}`}, func(c *config.Snapshot) bool { return len(c.Extensions.Skills) == 1 }},
		{".env", files{"data/.env": "Z=1\n"}, func(c *config.Snapshot) bool { _, ok := c.Env("Z"); return ok }},
	}
	for _, step := range steps {
		write(t, root, step.files)
		if !s.Poll() || !step.check(s.Current()) {
			t.Fatalf("%s: not seen; problem %q", step.name, s.Problem())
		}
	}
	must.Do(t, os.Remove(filepath.Join(root, "data", "settings.yaml")))
	if !s.Poll() || s.Current().File.Title.MaxChars != 80 {
		t.Error("the removed settings are still in force")
	}
}

func TestAMissingFileKeepsTheLastConfiguration(t *testing.T) {
	s, root := open(t, files{"config.yaml": "title: {max_words: 4}\n"}, nil)
	path := filepath.Join(root, "config.yaml")
	must.Do(t, os.Rename(path, path+"~"))
	if s.Poll() || words(s) != 4 || !strings.Contains(s.Problem(), "is missing") {
		t.Errorf("got %d, problem %q", words(s), s.Problem())
	}
	must.Do(t, os.Rename(path+"~", path))
	s.Poll()
	if words(s) != 4 || s.Problem() != "" {
		t.Errorf("back again: %d, problem %q", words(s), s.Problem())
	}
}

func TestAFileFoundEmptyOnceIsBeingSaved(t *testing.T) {
	s, root := open(t, files{"config.yaml": "title: {max_words: 4}\n"}, nil)
	write(t, root, files{"config.yaml": ""})
	if s.Poll() || words(s) != 4 {
		t.Fatalf("first look: %d", words(s))
	}
	if !s.Poll() || words(s) != 8 {
		t.Errorf("second look: %d", words(s))
	}
}

func TestKeysThatNeedARestartAreNamed(t *testing.T) {
	s, root := open(t, files{"config.yaml": "store: {sync: normal}\n"}, nil)
	write(t, root, files{"config.yaml": "store: {sync: full}\nllm_call: {max_concurrent_calls: 3}\n"})
	s.Poll()
	if got := s.Restart(); got != "store.sync, llm_call.max_concurrent_calls" {
		t.Errorf("keys that need a restart: %q", got)
	}
	write(t, root, files{"config.yaml": "title: {max_words: 2}\n"})
	s.Poll()
	if s.Restart() != "" {
		t.Errorf("they stay: %q", s.Restart())
	}
	if !slices.Contains(config.RestartKeys(), "scheduler") || slices.Contains(config.RestartKeys(), "title") {
		t.Errorf("keys: %v", config.RestartKeys())
	}
}

func TestWatchTakesEditsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, root := open(t, files{"config.yaml": "title: {max_words: 1}\n"}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Watch(ctx) }()
		write(t, root, files{"config.yaml": "title: {max_words: 2}\n"})
		time.Sleep(3 * time.Second) // of the bubble's clock
		synctest.Wait()
		if words(s) != 2 {
			t.Errorf("after a poll: %d", words(s))
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestReadersSeeWholeSnapshotsWhilePolling(t *testing.T) {
	s, root := open(t, files{"config.yaml": "title: {max_words: 1, max_chars: 11}\n"}, nil)
	stop, done := make(chan struct{}), make(chan bool)
	go func() {
		ok := true
		for {
			select {
			case <-stop:
				done <- ok
				return
			default:
				f := s.Current().File.Title
				ok = ok && f.MaxChars == f.MaxWords+10
			}
		}
	}()
	for i := 2; i < 20; i++ {
		write(t, root,
			files{"config.tmp": "title: {max_words: " + strconv.Itoa(i) + ", max_chars: " + strconv.Itoa(i+10) + "}\n"})
		must.Do(t, os.Rename(filepath.Join(root, "config.tmp"), filepath.Join(root, "config.yaml")))
		if !s.Poll() {
			t.Errorf("edit %d not seen", i)
		}
	}
	close(stop)
	if !<-done {
		t.Error("a reader saw half of an edit")
	}
}

func TestFixedNeverChanges(t *testing.T) {
	snapshot := load(t, nil, nil)
	s := config.Fixed(snapshot)
	if s.Poll() || s.Current() != snapshot {
		t.Error("a fixed store changed")
	}
}
