package history_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/e2e/scriptmodel"
)

const (
	schema = "history"
	lease  = 6 * time.Second // the shortest there is
)

// cluster is several servers, whose clocks differ, with one PostgreSQL, one folder of files, one model and one tool.
type cluster struct {
	t        *testing.T
	database *pgtest.Server
	servers  []*server
	url      string // of the front
	ledger   *ledger

	down sync.RWMutex // held while PostgreSQL is down
}

func newCluster(t *testing.T, wake string) *cluster {
	t.Helper()
	return newClusterOf(t, wake, lease)
}

// newClusterOf is newCluster with leases that are as long as is said.
func newClusterOf(t *testing.T, wake string, lease time.Duration) *cluster {
	t.Helper()
	return newClusterWith(t, wake, lease, "")
}

// newClusterWith is newClusterOf with more lines of configuration.
func newClusterWith(t *testing.T, wake string, lease time.Duration, more string) *cluster {
	t.Helper()
	c := &cluster{t: t, database: pgtest.StartAlways(t), ledger: newLedger(t)}
	config := clusterConfig(t, wake, lease) + more
	for i, name := range []string{"a", "b", "c"} {
		c.servers = append(c.servers, newServer(t, name, clocks[i], config, c.ledger.extensions(), c.database))
	}
	c.open()
	c.watch()
	return c
}

// clusterConfig is the configuration of each server but for its database.
func clusterConfig(t *testing.T, wake string, lease time.Duration) string {
	t.Helper()
	return fmt.Sprintf("cluster: {enabled: true, lease: %d, wake: %s}\nfiles: {dir: %q}\n",
		int(lease.Seconds()), wake, t.TempDir()) + serverConfig(t)
}

// serverConfig is that of any server.
func serverConfig(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf(`title: {enabled: false}
scheduler: {min_once_delay_seconds: 0}
memory: {model_name: offline}
models:
  - {name: script, use: openai, model: script, base_url: %q, api_key: test}
`, scriptmodel.Start(t).URL+"/v1")
}

// open puts a front before the servers, and waits until they listen.
func (c *cluster) open() {
	c.t.Helper()
	at := httptest.NewServer(newFront(c.servers))
	c.t.Cleanup(func() { at.CloseClientConnections(); at.Close() })
	c.url = at.URL
	c.up()
}

// up waits until all servers listen.
func (c *cluster) up() {
	c.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		n := 0
		for _, s := range c.servers {
			if s.where() != "" {
				n++
			}
		}
		if n == len(c.servers) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("%d of %d servers listen", n, len(c.servers))
		}
	}
}

// crash ends PostgreSQL at once, and starts it again after a while.
func (c *cluster) crash(pause time.Duration) {
	c.down.Lock()
	defer c.down.Unlock()
	c.database.Crash(c.t)
	time.Sleep(pause)
	c.database.Run(c.t)
}

// pause freezes PostgreSQL for a while.
func (c *cluster) pause(d time.Duration) {
	c.down.Lock()
	defer c.down.Unlock()
	defer c.database.Pause()()
	time.Sleep(d)
}

// ask reads rows from the database, while it is up.
func (c *cluster) ask(query string, args ...any) (list [][]any) {
	c.t.Helper()
	c.down.RLock()
	defer c.down.RUnlock()
	conn, err := pgx.Connect(context.Background(), c.database.URL+"&search_path="+schema)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(context.Background(), query, args...)
	if err == nil {
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	}
	if err != nil {
		c.t.Fatalf("%s: %v", query, err)
	}
	return list
}

// watch has the database look at each transaction of a server, at its very end, whether that server has been evicted
// by then. What is found lies in the table fault.
func (c *cluster) watch() {
	c.t.Helper()
	c.down.RLock()
	defer c.down.RUnlock()
	conn, err := pgx.Connect(context.Background(), c.database.URL+"&search_path="+schema)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	sql := `CREATE TABLE fault (what text, node text, at timestamptz DEFAULT clock_timestamp());
		CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
		DECLARE self text := current_setting('application_name');
		BEGIN
			IF self ~ '^fawn/\d+$' AND NOT EXISTS (SELECT 1 FROM node WHERE id = substr(self, 6)::bigint) THEN
				INSERT INTO fault(what, node) VALUES (TG_OP || ' ' || TG_TABLE_NAME, self);
			END IF;
			RETURN NULL;
		END $$;`
	for _, table := range []string{"tail", "event", "message", "field", "checkpoint", "run", "thread"} {
		sql += fmt.Sprintf(`CREATE CONSTRAINT TRIGGER watched AFTER INSERT OR UPDATE OR DELETE ON %q
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look();`, table)
	}
	if _, err := conn.Exec(context.Background(), sql); err != nil {
		c.t.Fatal(err)
	}
}

// check is what fsck looks for.
func (c *cluster) check() {
	c.t.Helper()
	db, err := store.Open(c.t.Context(), store.Config{Dir: c.t.TempDir(), URL: c.database.URL, Schema: schema,
		Cluster: true, Lease: time.Minute})
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	problems, err := db.Check(c.t.Context())
	if err != nil {
		c.t.Error(err)
	}
	for _, p := range problems {
		c.t.Errorf("fsck: %s", p)
	}
}

// ledger is outside of all servers, and has a line for each call of their tool.
type ledger struct {
	url string

	mu    sync.Mutex
	lines map[string]int
}

const note = "ledger_note"

func newLedger(t *testing.T) *ledger {
	l := &ledger{lines: map[string]int{}}
	s := sdk.NewServer(&sdk.Implementation{Name: "ledger", Version: "1"}, nil)
	type line struct {
		ID string `json:"id"`
		MS int    `json:"ms"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "note", Description: "writes a line"},
		func(_ context.Context, _ *sdk.CallToolRequest, in line) (*sdk.CallToolResult, any, error) {
			l.mu.Lock()
			l.lines[in.ID]++
			l.mu.Unlock()
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "noted " + in.ID}}}, nil, nil
		})
	at := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() { at.CloseClientConnections(); at.Close() })
	l.url = at.URL
	return l
}

// extensions is the configuration of servers that have it.
func (l *ledger) extensions() string {
	return fmt.Sprintf(`{"mcpServers": {"ledger": {"type": "http", "url": %q}}}`, l.url+"/mcp")
}

func (l *ledger) times(id string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[id]
}
