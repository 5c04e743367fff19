package deerflow

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// ErrForeign is returned for a database that neither DeerFlow nor LangGraph wrote.
var ErrForeign = errors.New("has no checkpoints of LangGraph")

// Source is one database. Its methods must not be called at the same time.
type Source struct {
	db     *sql.DB
	temp   string // folder with the copy
	tables []string
}

// Thread is a conversation in its newest state.
type Thread struct {
	ID       string
	User     string // "" in a database without users
	Title    string
	Metadata map[string]any // DeerFlow's metadata
	Agent    string         // custom agent that answered last, "" for the lead agent
	Created  time.Time      // zero if not recorded
	Updated  time.Time
	Values   map[string]any // channels by name; messages are LangChain's as maps
}

// Run holds the known attributes of a run.
type Run struct {
	ID, Assistant, Status, Model, Error string
	Input, Output, Total, Calls         int64 // tokens, and calls of the model
	Created, Updated                    time.Time
}

// Open copies a database to a temporary folder and opens the copy, since even a reader would write next to it. The
// write-ahead log of a killed DeerFlow is included. The error is ErrForeign, or names what the file is missing.
func Open(ctx context.Context, path string) (_ *Source, err error) {
	temp, err := os.MkdirTemp("", "fawn-import-*")
	if err != nil {
		return nil, fmt.Errorf("copy DeerFlow's database: %w", err)
	}
	s := &Source{temp: temp}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	copied := filepath.Join(temp, "copy.db")
	for _, part := range []string{"", "-wal"} {
		err := copyFile(copied+part, path+part)
		if err != nil && (part == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("copy DeerFlow's database: %w", err)
		}
	}
	at := url.URL{Scheme: "file", Path: filepath.ToSlash(copied), RawQuery: "_pragma=busy_timeout(5000)"}
	if s.db, err = sql.Open("sqlite", at.String()); err != nil {
		return nil, fmt.Errorf("open DeerFlow's database: %w", err)
	}
	s.db.SetMaxOpenConns(1)
	if s.tables, err = s.texts(ctx, `SELECT name FROM sqlite_master WHERE type = 'table'`); err == nil &&
		!slices.Contains(s.tables, "checkpoints") {
		err = ErrForeign
	}
	if err != nil {
		return nil, fmt.Errorf("read DeerFlow's database %s: %w", path, err)
	}
	return s, nil
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "read", Path: from, Err: fs.ErrInvalid}
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Close removes the copy.
func (s *Source) Close() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, os.RemoveAll(s.temp))
}

func (s *Source) texts(ctx context.Context, query string, args ...any) (out []string, err error) {
	err = s.each(ctx, func(scan func(...any) error) error {
		var t string
		if err := scan(&t); err != nil {
			return err
		}
		out = append(out, t)
		return nil
	}, query, args...)
	return out, err
}

func (s *Source) each(ctx context.Context, row func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Users returns the sorted ids of owners of threads; none in a database without users.
func (s *Source) Users(ctx context.Context) ([]string, error) {
	if !slices.Contains(s.tables, "threads_meta") {
		return nil, nil
	}
	list, err := s.texts(ctx, `SELECT DISTINCT user_id FROM threads_meta WHERE user_id IS NOT NULL ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return list, nil
}

// IDs returns the threads of a user, oldest first. "" is all users.
func (s *Source) IDs(ctx context.Context, user string) ([]string, error) {
	query := `SELECT thread_id FROM checkpoints WHERE checkpoint_ns = '' GROUP BY 1 ORDER BY min(checkpoint_id)`
	var args []any
	if slices.Contains(s.tables, "threads_meta") {
		query = `SELECT m.thread_id FROM threads_meta m WHERE ?1 IN ('', m.user_id)
			AND EXISTS (SELECT 1 FROM checkpoints c WHERE c.thread_id = m.thread_id AND c.checkpoint_ns = '')
			ORDER BY m.created_at, m.thread_id`
		args = []any{user}
	}
	list, err := s.texts(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read threads: %w", err)
	}
	return list, nil
}

// Thread reads a thread and its newest state.
func (s *Source) Thread(ctx context.Context, id string) (Thread, error) {
	t, err := s.thread(ctx, id)
	if err != nil {
		return t, fmt.Errorf("read thread %s: %w", id, err)
	}
	return t, nil
}

func (s *Source) thread(ctx context.Context, id string) (Thread, error) {
	t := Thread{ID: id, Metadata: map[string]any{}}
	if slices.Contains(s.tables, "threads_meta") {
		var user, name, meta, created, updated sql.NullString
		row := s.db.QueryRowContext(ctx, `SELECT user_id, display_name, metadata_json, CAST(created_at AS TEXT),
			CAST(updated_at AS TEXT) FROM threads_meta WHERE thread_id = ?`, id)
		if err := row.Scan(&user, &name, &meta, &created, &updated); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return t, err
		}
		t.User, t.Title, t.Created, t.Updated = user.String, name.String, stamp(created.String), stamp(updated.String)
		if meta.Valid && json.Unmarshal([]byte(meta.String), &t.Metadata) != nil || t.Metadata == nil {
			t.Metadata = map[string]any{}
		}
	}
	var kind sql.NullString
	var body, meta []byte
	row := s.db.QueryRowContext(ctx, `SELECT type, checkpoint, metadata FROM checkpoints
		WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1`, id)
	if err := row.Scan(&kind, &body, &meta); err != nil {
		return t, err
	}
	checkpoint, err := object(kind.String, body)
	if err != nil {
		return t, fmt.Errorf("its checkpoint: %w", err)
	}
	if t.Values, _ = checkpoint["channel_values"].(map[string]any); t.Values == nil {
		return t, fmt.Errorf("its checkpoint: %w", errShape)
	}
	if t.Created.IsZero() {
		at, _ := checkpoint["ts"].(string)
		t.Created = stamp(at)
	}
	if m, err := object("json", meta); err == nil { // the agent's settings aren't part of the conversation
		if name, _ := m["agent_name"].(string); name != "default" && name != "lead_agent" {
			t.Agent = name
		}
	}
	return t, nil
}

// object reads a map in the form that the column type names.
func object(kind string, b []byte) (map[string]any, error) {
	var v any
	var err error
	switch kind {
	case "msgpack":
		v, err = decode(b)
	case "json", "":
		if err = json.Unmarshal(b, &v); err == nil {
			v = plain(v)
		}
	default:
		err = fmt.Errorf("it is encoded as %q, which isn't supported", kind)
	}
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errShape
	}
	return m, nil
}

// plain replaces LangChain's serialized JSON form of an object with the object's arguments.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		if args, ok := v["kwargs"].(map[string]any); ok && v["lc"] != nil && v["type"] == "constructor" {
			return plain(args)
		}
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

// Runs returns the runs of a thread, oldest first.
func (s *Source) Runs(ctx context.Context, thread string) (out []Run, err error) {
	if !slices.Contains(s.tables, "runs") {
		return nil, nil
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		var r Run
		var created, updated string
		if err := scan(&r.ID, &r.Assistant, &r.Status, &r.Model, &r.Error, &r.Input, &r.Output, &r.Total, &r.Calls,
			&created, &updated); err != nil {
			return err
		}
		r.Created, r.Updated = stamp(created), stamp(updated)
		out = append(out, r)
		return nil
	}, `SELECT run_id, coalesce(assistant_id, ''), status, coalesce(model_name, ''), coalesce(error, ''),
		total_input_tokens, total_output_tokens, total_tokens, llm_call_count,
		CAST(created_at AS TEXT), CAST(updated_at AS TEXT)
		FROM runs WHERE thread_id = ? ORDER BY created_at, run_id`, thread)
	if err != nil {
		return nil, fmt.Errorf("read runs of thread %s: %w", thread, err)
	}
	return out, nil
}

// stamp reads a time in the form of SQLAlchemy and LangGraph: UTC unless specified.
func stamp(s string) time.Time {
	s = strings.Replace(s, " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
