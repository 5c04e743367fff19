package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/profile"
	"fawn/memory"
	"fawn/store"
)

// agents imports the custom agents.
func (m *migration) agents() error {
	list, err := profile.Open(m.dir, store.DefaultOwner)
	if err != nil {
		return err
	}
	defer list.Close()
	taken, known := 0, 0
	for _, shelf := range m.places("agents") {
		entries, err := os.ReadDir(shelf)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read DeerFlow's agents: %w", err)
		}
		for _, e := range entries {
			at := filepath.Join(shelf, e.Name())
			settings, err := small(filepath.Join(at, "config.yaml"))
			if !e.IsDir() || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			soul, soulErr := small(filepath.Join(at, "SOUL.md"))
			if errors.Is(soulErr, fs.ErrNotExist) {
				soulErr = nil
			}
			if err := errors.Join(err, soulErr); err != nil {
				m.fail("agent "+e.Name(), err)
				continue
			}
			if list.Has(store.DefaultOwner, strings.ToLower(e.Name())) {
				known++
				continue
			}
			if !m.Dry {
				file := "---\n" + strings.TrimRight(settings, "\n") + "\n---\n\n" + soul
				_, err = list.Import(store.DefaultOwner, []byte(file), e.Name())
			}
			if err != nil {
				m.fail("agent "+e.Name(), err)
				continue
			}
			taken++
		}
	}
	m.say("Agents: %d %s, %d are here already.", taken, m.done("imported"), known)
	return nil
}

// profile imports the user's profile.
func (m *migration) profile() error {
	list, err := profile.Open(m.dir, store.DefaultOwner)
	if err != nil {
		return err
	}
	defer list.Close()
	if have, err := list.User(store.DefaultOwner); err != nil || strings.TrimSpace(have) != "" {
		return err
	}
	for _, at := range m.places("USER.md") {
		text, err := small(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !m.Dry {
			err = list.SetUser(store.DefaultOwner, text)
		}
		if err != nil {
			m.fail("the profile", err)
		} else {
			m.say("Profile (USER.md): %s.", m.done("imported"))
		}
		return nil
	}
	return nil
}

// remember imports the memory, unless there is one already.
func (m *migration) remember(ctx context.Context) error {
	snap, err := config.Load(config.Options{Config: m.o.Config, DataDir: m.dir, Classes: lead.Classes()})
	if err != nil {
		return err
	}
	most := snap.File.Memory.Backend.MaxFacts
	known := memory.New(memory.Config{DB: m.db, Log: m.o.Log, Rules: func() memory.Rules {
		return memory.Rules{MaxFacts: most}
	}})
	have, err := known.Document(ctx, store.DefaultOwner)
	if err != nil {
		return err
	}
	for _, at := range m.places("memory.json") {
		text, err := small(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if len(have.Facts) > 0 {
			m.say("Memory: stays as it is here, with %d facts.", len(have.Facts))
			return nil
		}
		d, parseErr := memory.Parse([]byte(text))
		if err = errors.Join(err, parseErr); err == nil && !m.Dry {
			_, err = known.Import(ctx, store.DefaultOwner, 0, d)
		}
		if err != nil {
			m.fail("the memory", err)
		} else {
			m.say("Memory: %d facts %s.", len(d.Facts), m.done("imported"))
		}
		return nil
	}
	return nil
}

// settings copies the files with models, tools and MCP servers unless they exist, and lists the remaining manual steps.
func (m *migration) settings() error {
	for _, name := range []string{"config.yaml", "extensions_config.json"} {
		for _, folder := range []string{m.old.project, m.old.home} {
			text, err := small(filepath.Join(folder, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				m.fail(name, err)
				break
			}
			to := filepath.Join(m.dir, name)
			if _, err := os.Lstat(to); err == nil {
				m.say("%s: stays as it is here. DeerFlow's is %s.", name, filepath.Join(folder, name))
				break
			}
			if !m.Dry {
				if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
					return fmt.Errorf("copy %s: %w", name, err)
				}
			}
			m.say("%s: %s to the data folder. fawn doctor tells which of its settings have no effect.", name,
				m.done("copied"))
			break
		}
	}
	if custom := filepath.Join(m.old.project, "skills", "custom"); isFolder(custom) {
		m.say("Your own skills are in %s. Add them on the Skills page, which checks them first.", custom)
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// maxSmall limits files that are read whole, in bytes.
const maxSmall = 16 << 20

// small reads an ordinary file that is not too large.
func small(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmall {
		return "", fmt.Errorf("%s isn't a file of at most %d MiB", path, maxSmall>>20)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}
