package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/web/webtest"
)

// TestAFileThatCannotBeReadEndsNoFolder: it is a document that failed, and the rest of the folder is read. The kernel answers
// readers of the memory of a process at 0 with an I/O error.
func TestAFileThatCannotBeReadEndsNoFolder(t *testing.T) {
	t.Parallel()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", os.Getpid()))
	if err != nil || len(tasks) == 0 {
		t.Skip("there is no /proc")
	}
	if _, err := os.ReadFile(filepath.Join(tasks[0], "mem")); err == nil || os.IsPermission(err) {
		t.Skipf("reading memory says %v", err)
	}
	s := anybody{start(t, scripted(t)+"knowledge: {folders: ["+tasks[0]+"]}\n")}
	at := newCollection(t, s, "Task")
	got := addSource(t, s, at, "folder", tasks[0]).Sources[1]
	if got.State != "ready" {
		t.Errorf("the folder: %+v", got)
	}
	docs := documentsAt(t, s, at, "?limit=1000")
	if docs["mem"] != "failed unreadable" || docs["status"] != "converted " {
		t.Errorf("mem is %q, status is %q", docs["mem"], docs["status"])
	}
	webtest.Holds(t, "found", cites(t, s, at, "VmPeak"), "Task/status, l. 1")
	id := strings.TrimPrefix(at, "/api/knowledge/")
	s.do(t, "GET", "/workspace/knowledge/"+id, "", "Accept", "text/html").holds(t, "the page doesn't say why", "The server can’t read this file.")
}
