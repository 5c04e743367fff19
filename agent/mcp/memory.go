package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"

	"fawn/agent/clusterstate"
)

// listed is a tool as its server describes it, within bounds.
type listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Long        bool            `json:"long,omitempty"` // its calls may become tasks
	App         string          `json:"app,omitempty"`  // the page that shows its results
	NotForModel bool            `json:"not_for_model,omitempty"`
	NotForApps  bool            `json:"not_for_apps,omitempty"`
}

// hash identifies the approved version of a tool.
func (l listed) hash() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s", l.Name, l.Description, l.Schema)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// known is the stored state of a server.
type known struct {
	Signature string            `json:"signature"`
	Tools     []listed          `json:"tools"`
	Approved  map[string]string `json:"approved"`          // hashes by tool
	Refresh   string            `json:"refresh,omitempty"` // the newest refresh token
	From      string            `json:"from,omitempty"`    // hash of the configured token it was obtained with
	Login     *grant            `json:"login,omitempty"`
	Late      string            `json:"late,omitempty"` // signature of a configuration that didn't list its tools in time
	Turn      string            `json:"turn,omitempty"` // the server of the cluster that renews the token
}

// Limits of the stored state.
const (
	maxKnown      = 64 << 20 // bytes of the file
	maxApproved   = 4096     // tools of a server
	memoryVersion = 1
)

// memory is the file with the servers' stored state, which makes their tools available right after a start. A cluster
// keeps it in rows, one per server.
type memory struct {
	path string             // empty stores nothing
	rows *clusterstate.Rows // nil uses a file

	mu      sync.Mutex
	Version int              `json:"version"`
	Servers map[string]known `json:"servers"`
}

// remember reads the file. An unreadable file counts as empty, and the reason is returned.
func remember(path string) (*memory, error) {
	m := &memory{path: path, Version: memoryVersion, Servers: map[string]known{}}
	if path == "" {
		return m, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("read known MCP servers: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKnown))
	if err == nil {
		err = json.Unmarshal(data, m)
	}
	if err != nil || m.Servers == nil {
		m.Servers = map[string]known{}
	}
	if err != nil {
		return m, fmt.Errorf("read known MCP servers: %w", err)
	}
	return m, nil
}

func (m *memory) get(name string) known {
	if m.rows != nil {
		return readKnown(m.rows.Get(knownDoc + name))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Servers[name]
}

// put stores or deletes data of a server.
func (m *memory) put(name string, change func(k *known) (keep bool)) error {
	if m.rows != nil {
		return m.putRow(name, change)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, had := m.Servers[name]
	k := old
	if !change(&k) {
		if !had {
			return nil
		}
		delete(m.Servers, name)
	} else if had && reflect.DeepEqual(k, old) {
		return nil
	} else {
		m.Servers[name] = k
	}
	if m.path == "" {
		return nil
	}
	data, err := json.Marshal(m)
	if err == nil {
		err = replace(m.path, data)
	}
	if err != nil {
		return fmt.Errorf("remember MCP servers: %w", err)
	}
	return nil
}

// knownDoc is the name prefix of the rows.
const knownDoc = "mcp/known/"

// rowTime limits the writing of a row.
const rowTime = 10 * time.Second

// readKnown reads a row. An unreadable row counts as empty.
func readKnown(d clusterstate.Doc) (k known) {
	if len(d.Body) == 0 || json.Unmarshal(d.Body, &k) != nil {
		return known{}
	}
	return k
}

// putRow is put for rows. After a concurrent change it is repeated.
func (m *memory) putRow(name string, change func(k *known) (keep bool)) error {
	ctx, cancel := context.WithTimeout(context.Background(), rowTime)
	defer cancel()
	for {
		d := m.rows.Get(knownDoc + name)
		old, k := readKnown(d), readKnown(d)
		keep, had := change(&k), d.Body != nil
		if !keep && !had || keep && had && reflect.DeepEqual(k, old) {
			return nil
		}
		d.Body, d.Secret = nil, k.Login != nil || k.Refresh != ""
		if keep {
			var err error
			if d.Body, err = json.Marshal(k); err != nil {
				return fmt.Errorf("remember MCP servers: %w", err)
			}
		}
		err := m.rows.Put(ctx, d)
		if errors.Is(err, clusterstate.ErrChanged) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("remember MCP servers: %w", err)
		}
		return nil
	}
}

// heard applies changes of other servers.
func (p *Pool) heard(names []string) error {
	for _, name := range names {
		name, ok := strings.CutPrefix(name, knownDoc)
		if !ok {
			continue
		}
		if s, err := p.find(name); err == nil {
			s.heard()
			p.offer()
		}
	}
	return nil
}

// tooLate records that the server hasn't listed its tools in time.
func (s *server) tooLate() {
	s.mu.Lock()
	have, now := s.have, s.conf.signature()
	s.late = true
	s.mu.Unlock()
	if !have {
		s.remember(func(k *known) { k.Late = now })
	}
}

// replace writes a private temporary file next to the old one and renames it.
func replace(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = cmp.Or(err, f.Sync())
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
