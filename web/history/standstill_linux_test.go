package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/store"
	"fawn/store/pgtest"
	"fawn/web/e2e/gate"
)

const whyStandstill = "each waits for a minute in which nothing can be stored"

// TestAFrozenDiskFailsNothing: the file system of the data folder stands still, as for a snapshot or a disk that is
// away, while clients are at work. No run fails, no number is given twice, and what was shown is there.
func TestAFrozenDiskFailsNothing(t *testing.T) {
	gate.In(t, gate.Cluster, whyStandstill)
	mount := smallDisk(t)
	c := &cluster{t: t, ledger: newLedger(t)}
	c.servers = []*server{startServer(t, &server{name: "alone", dir: filepath.Dir(mount)}, serverConfig(t),
		c.ledger.extensions())}
	c.open()
	for i, d := range gate.Pick(nil, []time.Duration{4 * time.Second, 12 * time.Second, 60 * time.Second},
		[]time.Duration{4 * time.Second, 12 * time.Second, 25 * time.Second, 60 * time.Second, 3 * time.Minute}) {
		cs := c.standstill(t, fmt.Sprintf("f%d", i), d, func() {
			fsfreeze(t, "--freeze", mount)
			time.Sleep(d)
			fsfreeze(t, "--unfreeze", mount)
		})
		c.settled(t, cs)
		shown, undone := cs.compare(t)
		t.Logf("frozen for %v: %d frames of %d runs, %d rolled back; %v", d, shown, len(cs.records), undone, cs)
		if shown == 0 {
			t.Error("nothing was put to the test")
		}
	}
	s := c.servers[0]
	s.end()
	db, err := store.Open(t.Context(), store.Config{Dir: s.data(), Log: slog.New(slog.DiscardHandler)})
	must.Do(t, err)
	defer db.Close()
	problems, err := db.Check(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("fsck: %v, %v", problems, err)
	}
	if log, err := os.ReadFile(s.log.Name()); err != nil || strings.Contains(string(log), "level=ERROR") {
		t.Errorf("the server says:\n%s%v", log, err)
	}
}

// TestAPostgreSQLThatStandsStillFailsNothing for a minute, when servers keep their leases meanwhile as when they lose
// them, with a pooler and without.
func TestAPostgreSQLThatStandsStillFailsNothing(t *testing.T) {
	gate.In(t, gate.Cluster, whyStandstill)
	const d = 60 * time.Second
	for _, lease := range []time.Duration{10 * time.Second, 60 * time.Second} {
		for _, pooled := range []bool{false, true} {
			t.Run(fmt.Sprintf("lease %v, pooler %v", lease, pooled), func(t *testing.T) {
				t.Parallel() // they wait most of the time
				c := &cluster{t: t, database: pgtest.Start(t), ledger: newLedger(t)}
				config := clusterConfig(t, "notify", lease)
				through := c.database.URL
				if pooled {
					through = pgtest.Pooler(t, c.database.URL, 5)
				}
				config += fmt.Sprintf("database: {url: %q, listen_url: %q, schema: %s}\n", through, c.database.URL, schema)
				if !pooled {
					config = strings.Replace(config, fmt.Sprintf("listen_url: %q, ", c.database.URL), "", 1)
				}
				for _, name := range []string{"a", "b"} {
					c.servers = append(c.servers, startServer(t, &server{name: name, dir: t.TempDir()}, config,
						c.ledger.extensions()))
				}
				c.open()
				c.watch()
				cs := c.standstill(t, "p", d, func() { c.pause(d) })
				c.up()
				c.quiet()
				c.settled(t, cs)
				shown, undone := cs.compare(t)
				called := c.sound(cs.threads)
				for _, row := range c.ask(`SELECT id, thread, status, stop_reason, error FROM run
					WHERE status = 'error' OR stop_reason = 'orphan_recovered'`) {
					t.Errorf("a run failed: %v", row)
				}
				c.check()
				t.Logf("%d frames of %d runs, %d rolled back, %d calls; %v", shown, len(cs.records), undone, called, cs)
				if shown == 0 {
					t.Error("nothing was put to the test")
				}
			})
		}
	}
}

// standstill lets clients work before, while and after something stands still for d.
func (c *cluster) standstill(t *testing.T, prefix string, d time.Duration, still func()) *clients {
	t.Helper()
	cs := &clients{c: c, until: time.Now().Add(working + d + working), asked: map[string]int{}}
	for i := range threads {
		cs.threads = append(cs.threads, fmt.Sprintf("%s-%d", prefix, i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), d+4*time.Minute)
	defer cancel()
	var people sync.WaitGroup
	for i := range crowd {
		people.Go(func() { cs.work(ctx, uint64(i)) })
	}
	time.Sleep(working) // they are in the midst of their work
	still()
	people.Wait()
	if ctx.Err() != nil {
		t.Error("clients still wait four minutes later")
	}
	return cs
}

// settled waits until no run is open any more, and looks how all have ended.
func (c *cluster) settled(t *testing.T, cs *clients) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		open, list := 0, []string{}
		for _, thread := range cs.threads {
			status, body := cs.send(t.Context(), http.MethodGet, "/threads/"+thread+"/runs?limit=1000", "")
			var runs []struct {
				ID     string `json:"run_id"`
				Status string `json:"status"`
				Reason string `json:"stop_reason"`
				Error  any    `json:"error"`
			}
			if status == http.StatusNotFound {
				continue
			}
			if status != http.StatusOK || json.Unmarshal(body, &runs) != nil {
				open++
				continue
			}
			for _, r := range runs {
				switch {
				case r.Status == "pending" || r.Status == "running":
					open++
				case r.Status == "error" || r.Status == "timeout" || r.Reason == "orphan_recovered":
					list = append(list, fmt.Sprint(thread, " ", r))
				}
			}
		}
		if open == 0 {
			for _, failed := range list {
				t.Errorf("a run failed: %s", failed)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d runs neither end nor go on", open)
		}
	}
}

// smallDisk is a file system of its own at the data folder of a server, which can be frozen. Where that needs rights
// that this process lacks, the test is skipped.
func smallDisk(t *testing.T) (mount string) {
	t.Helper()
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "server", "data")
	must.Do(t, os.MkdirAll(mount, 0o700))
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(512 << 20)
		f.Close()
	}
	must.Do(t, err)
	for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, mount}} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
		if path, err := exec.LookPath("/usr/sbin/" + command[0]); err == nil {
			cmd.Path, cmd.Err = path, nil
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("a file system of its own can't be had: %v: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() {
		exec.Command("/usr/sbin/fsfreeze", "--unfreeze", mount).Run() // mostly it isn't frozen
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return mount
}

func fsfreeze(t *testing.T, how, mount string) {
	t.Helper()
	if out, err := exec.Command("/usr/sbin/fsfreeze", how, mount).CombinedOutput(); err != nil {
		t.Errorf("fsfreeze %s: %v: %s", how, err, out)
	}
}
