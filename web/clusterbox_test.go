package web_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/store/objects/objectstest"
	"fawn/store/pgtest"
	"fawn/web"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// fill has a server with one slot work on a run until end is called.
func (s *server) fill(t *testing.T, model *scriptmodel.Server, thread string) (end func()) {
	t.Helper()
	l := s.stream(t, t.Context(), "/threads/"+thread+"/runs/stream",
		human(fmt.Sprintf(`SCRIPT{"turns": [{"text": "the last", "gate": %q}]}`, thread)))
	l.until(t, "metadata")
	return func() {
		t.Helper()
		model.Open(thread)
		l.until(t, "event: end")
	}
}

// TestASandboxEndsBeforeItsThreadGoesOnElsewhere: what ran in the background writes no more when a command runs at
// another server, and the model is told. So it is when the server that had it is gone.
func TestASandboxEndsBeforeItsThreadGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	conf := strings.Replace(clusteredWith(t, model, 1), "sandbox: {provider: off}\n", "", 1)
	a, b := start(t, conf, web.Patient(patience)), start(t, conf, web.Patient(patience))
	a.sandboxed(t)
	a.bash(t, "t1", `cd /mnt/user-data/workspace
		(while :; do echo x >> beat; sleep 0.05; done) >/dev/null 2>&1 &
		sleep 97531.642 >/dev/null 2>&1 & echo started`)
	until(t, func() bool { return runningCommand(t, "97531.642") })
	end := a.fill(t, model, "full")
	got := b.bash(t, "t1", "cd /mnt/user-data/workspace; wc -c < beat; sleep 1; wc -c < beat")[0]
	if n := strings.Fields(got); len(n) < 2 || n[0] == "0" || n[0] != n[1] {
		t.Errorf("what runs in the background still writes: %s", got)
	}
	webtest.Holds(t, "the model is told", got, "restarted (the conversation goes on at another server)")
	if runningCommand(t, "97531.642") {
		t.Error("a background process goes on")
	}
	webtest.Holds(t, "the model is told twice", b.bash(t, "t1", "echo again")[0], "!restarted")
	b.bash(t, "t2", "echo here") // where there is room
	if err := b.stop(); err != nil {
		t.Error(err)
	}
	end()
	webtest.Holds(t, "the model is told", a.bash(t, "t2", "echo there")[0], "restarted (the server it ran at has stopped)")
}

// TestASandboxStoresItsFilesBeforeItsThreadGoesOnElsewhere: what a background process has written to a copy of files
// that are in an object store is there when a command runs at another server.
func TestASandboxStoresItsFilesBeforeItsThreadGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	model, s3, data := scriptmodel.Start(t), objectstest.Start(t), t.TempDir()
	conf := scriptedBy(model) + fmt.Sprintf("files: {url: %q, endpoint: %q, path_style: true, access_key: %q, "+
		"secret_key: %q}\ncluster: {enabled: true, lease: 60, slots: 1}\ndatabase: {url: %q}\n", s3.URL(),
		s3.Endpoint(), objectstest.Key, objectstest.Secret, pgtest.URL(t))
	a := start(t, conf, func(o *web.Options) { o.Data = data })
	b := start(t, conf, web.Patient(patience))
	a.sandboxed(t)
	workspace := filepath.Join(data, "threads/t1/user-data/workspace")
	a.bash(t, "t1", `cd /mnt/user-data/workspace; echo first > first.txt
		(while [ ! -e go ]; do sleep 0.05; done
		echo second > second.part; mv second.part second.txt) >/dev/null 2>&1 &`)
	must.Do(t, os.WriteFile(filepath.Join(workspace, "go"), nil, 0o644))
	until(t, func() bool {
		_, err := os.Stat(filepath.Join(workspace, "second.txt"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	})
	end := a.fill(t, model, "full")
	got := b.bash(t, "t1", "cd /mnt/user-data/workspace; cat first.txt second.txt")[0]
	if !strings.HasPrefix(got, "first\nsecond\n") {
		t.Errorf("at the other server: %s", got)
	}
	end()
}
