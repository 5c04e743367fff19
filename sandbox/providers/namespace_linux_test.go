package providers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

func TestCommandsSeeRealPathsAndNothingElse(t *testing.T) {
	w := newWorld(t, func(c *sandbox.Config) {
		skills := filepath.Join(t.TempDir(), "skills")
		mustWrite(t, filepath.Join(skills, "pdf", "SKILL.md"), "how to")
		c.Dirs.Mounts = []files.Mount{{Path: files.Skills + "/public", Dir: skills}}
	})
	s := w.thread("a")
	for name, c := range map[string]struct{ command, want string }{
		"working folder":     {"pwd", "/mnt/user-data/workspace\n"},
		"folders":            {"ls /mnt/user-data", "outputs\nuploads\nworkspace\n"},
		"skills":             {"cat /mnt/skills/public/pdf/SKILL.md", "how to"},
		"skills read-only":   {"echo x 2>/dev/null > /mnt/skills/public/pdf/SKILL.md || echo refused", "refused\n"},
		"user":               {"id -un; id -u; id -G", "agent\n1000\n1000\n"},
		"home":               {"cd; pwd; touch x && echo ok", "/home/agent\nok\n"},
		"root":               {"echo /*", "/bin /dev /etc /home /lib /lib64 /mnt /opt /proc /run /sbin /tmp /usr /var\n"},
		"host name":          {"cat /proc/sys/kernel/hostname", "sandbox\n"},
		"process 1":          {"cat /proc/1/comm", "init\n"},
		"loopback":           {"cat /proc/net/dev | grep -c :", "1\n"},
		"both streams":       {"echo out; echo err >&2; echo out", "out\nout\nerr\n"},
		"streams by name":    {"echo a >/dev/stdout; echo b >/dev/stderr; echo c | tee /dev/stderr", "a\nc\nb\nc\n"},
		"substitution":       {"cat <(echo inner)", "inner\n"},
		"here document":      {"cat <<E\n$((1+1)) <&>\nE", "2 <&>\n"},
		"mask of files":      {"touch m; stat -c %a m", "644\n"},
		"nothing from stdin": {"cat; echo end", "end\n"},
		"mirrored text":      {"echo '日本語 \"quoted\" \\n'", "日本語 \"quoted\" \\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			res := bash(t, s, c.command)
			if string(res.Output) != c.want || res.ExitCode != 0 {
				t.Errorf("output %q, exit %d, notes %q; want %q", res.Output, res.ExitCode, res.Notes, c.want)
			}
		})
	}
}

func put(t *testing.T, f *files.Files, p, content string) {
	t.Helper()
	if err := f.WriteFile(t.Context(), p, []byte(content), false); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreSharedWithTheServer(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	tree, err := w.cfg.Dirs.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	put(t, tree, "/mnt/user-data/uploads/in.txt", "given")
	bash(t, s, "mkdir -p deep/er; cat ../uploads/in.txt > deep/er/out.txt; ln -s /mnt/user-data/uploads/in.txt link")
	for _, p := range []string{"deep/er/out.txt", "link"} {
		if b, err := tree.ReadFile(t.Context(), p, 100); err != nil || string(b) != "given" {
			t.Errorf("%s = %q, %v", p, b, err)
		}
	}
	// What the server makes after the first command belongs to the commands too.
	put(t, tree, "new/folder/file", "1")
	put(t, tree, "deep/er/out.txt", "changed")
	if err := tree.Mkdir("made/by/server"); err != nil {
		t.Fatal(err)
	}
	f, err := tree.Create("/mnt/user-data/uploads/created")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	res := bash(t, s, "echo 2 >> new/folder/file && echo 3 >> deep/er/out.txt && touch new/x made/x made/by/x made/by/server/x && echo 4 > ../uploads/created && cat new/folder/file deep/er/out.txt && rm -r new made")
	if string(res.Output) != "12\nchanged3\n" || res.ExitCode != 0 {
		t.Errorf("%q, exit %d", res.Output, res.ExitCode)
	}
	if err := w.cfg.Dirs.Remove("a"); err != nil {
		t.Error(err)
	}
}

func TestUploadsCanBeReadOnly(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.UploadsReadOnly = true })
	res := bash(t, s, "touch ../uploads/x ../outputs/y")
	if res.ExitCode == 0 || !strings.Contains(string(res.Output), "Read-only") {
		t.Errorf("%q, exit %d", res.Output, res.ExitCode)
	}
}

func TestRequestReachesTheCommand(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.Env = map[string]string{"POLICY": "p", "BOTH": "p"} })
	long := strings.Repeat("x", 100<<10)
	res := do(t, s, sandbox.ExecReq{
		Command: `echo "$# $1 ${#2} $POLICY $BOTH $(cat) $PWD"; exit 3`,
		Args:    []string{"one 'two'", long}, Env: map[string]string{"BOTH": "call"}, Stdin: []byte("input"),
		Cwd: files.Outputs,
	})
	want := fmt.Sprintf("2 one 'two' %d p call input /mnt/user-data/outputs\n", len(long))
	if string(res.Output) != want || res.ExitCode != 3 || res.Signal != "" {
		t.Errorf("%q, exit %d; want %q", res.Output, res.ExitCode, want)
	}
	// Longer than Linux takes as an argument.
	script := "a=1\n# " + strings.Repeat("é", 300<<10) + "\nls /proc/self/fd | tr '\\n' ' '; echo $0 $1 $a\n"
	if res := do(t, s, sandbox.ExecReq{Command: script, Args: []string{"arg"}}); string(res.Output) !=
		"0 1 2 3 bash arg 1\n" {
		t.Errorf("long command: %.200q, exit %d, notes %q", res.Output, res.ExitCode, res.Notes)
	}
	if res := bash(t, s, "kill -TERM $$"); res.ExitCode != 143 || res.Signal != "SIGTERM" {
		t.Errorf("a command that ends itself: %+v", res)
	}
	if res := do(t, s, sandbox.ExecReq{Command: "true", Cwd: "/no/such"}); res.ExitCode != 126 || len(res.Notes) != 1 ||
		!strings.Contains(res.Notes[0], "/no/such") {
		t.Errorf("missing folder: %+v", res)
	}
	bash(t, s, "chmod 0 /mnt/user-data/workspace")
	if res := bash(t, s, "true"); res.ExitCode != 126 || !strings.Contains(res.Notes[0], "permissions are restored") {
		t.Errorf("closed folder: %+v", res)
	}
	if res := bash(t, s, "echo open > x; cat x"); string(res.Output) != "open\n" {
		t.Errorf("reopened folder: %+v", res)
	}
	if res := bash(t, s, "for i in $(seq 200000); do :; done"); res.Usage.User+res.Usage.System <= 0 ||
		res.Usage.MaxRSS < 1<<20 || res.Took <= 0 {
		t.Errorf("usage: %+v", res.Usage)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	for name, req := range map[string]sandbox.ExecReq{
		"empty":          {Command: " \n"},
		"NUL":            {Command: "echo \x00"},
		"no text":        {Command: "echo \xff"},
		"relative cwd":   {Command: "true", Cwd: "x"},
		"NUL in arg":     {Command: "true", Args: []string{"\x00"}},
		"long arg":       {Command: "true", Args: []string{strings.Repeat("x", 200<<10)}},
		"no name":        {Command: "true", Env: map[string]string{"": "x"}},
		"bad name":       {Command: "true", Env: map[string]string{"A-B": "x"}},
		"digit first":    {Command: "true", Env: map[string]string{"1A": "x"}},
		"loader":         {Command: "true", Env: map[string]string{"LD_PRELOAD": "/x"}},
		"start file":     {Command: "true", Secrets: map[string]string{"BASH_ENV": "/x"}},
		"field splitter": {Command: "true", Env: map[string]string{"IFS": "x"}},
		"function":       {Command: "true", Env: map[string]string{"BASH_FUNC_ls%%": "() { :; }"}},
	} {
		if _, err := s.Exec(t.Context(), req); !errors.Is(err, sandbox.ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.provider.Acquire(t.Context(), sandbox.ThreadRef{ID: "../x"}, sandbox.DefaultPolicy())
	if !errors.Is(err, files.ErrThread) {
		t.Errorf("thread id: %v", err)
	}
}

func TestSandboxStaysWarm(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	if st := s.Status(); st.Running || st.ID != "namespace:a" {
		t.Errorf("before the first command: %+v", st)
	}
	if res := bash(t, s,
		"echo kept > /tmp/x; export A=1; cd /; sleep 300 >/dev/null 2>&1 & sleep 300 & disown; until [ $(pgrep -cx sleep) = 2 ]; do :; done"); res.Background != 2 {
		t.Errorf("background = %d", res.Background)
	}
	res := bash(t, s, "cat /tmp/x; echo \"[$A] $PWD\"; pgrep -c sleep")
	if string(res.Output) != "kept\n[] /mnt/user-data/workspace\n2\n" || res.SandboxRestarted {
		t.Errorf("%q %+v", res.Output, res)
	}
	if st := stateOf(t, s); !st.Running || st.Procs != 2 || st.Calls != 0 || st.MemBytes <= 0 || st.Restarts != 0 ||
		st.Started.IsZero() {
		t.Errorf("status: %+v", st)
	}
	again := w.thread("a")
	if res := bash(t, again, "cat /tmp/x"); string(res.Output) != "kept\n" {
		t.Errorf("acquired again: %q", res.Output)
	}
	if res := bash(t, w.thread("b"), "ls /tmp; pgrep -c sleep"); string(res.Output) != "0\n" {
		t.Errorf("another thread: %q", res.Output)
	}
}

func TestBackgroundJobsMayGoOnWriting(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	start := time.Now()
	res := bash(t, s, "echo started; (while sleep 0.01; do echo tick; done) &")
	if took := time.Since(start); took > 60*time.Second || !strings.HasPrefix(string(res.Output), "started\n") ||
		res.Background == 0 {
		t.Errorf("took %v, %q, background %d", took, res.Output, res.Background)
	}
	// It would die of a closed pipe.
	bash(t, s, "sleep 0.5")
	if st := stateOf(t, s); st.Procs == 0 {
		t.Errorf("status: %+v", st)
	}
}

func TestLoopbackServersWorkAcrossCommands(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	bash(t, s, "echo hello > index.html; python3 -m http.server 8000 >server.log 2>&1 &")
	res := bash(t, s, `for i in $(seq 100); do python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:8000/").read().decode(), end="")' 2>/dev/null && break; sleep 0.05; done`)
	if string(res.Output) != "hello\n" {
		t.Errorf("%q", res.Output)
	}
}

func TestParallelCommandsShareOneSandbox(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			res := bash(t, s, fmt.Sprintf("echo %d; echo x > /tmp/parallel-%d; sleep 0.2", i, i))
			if string(res.Output) != fmt.Sprintf("%d\n", i) || res.SandboxRestarted {
				t.Errorf("%d: %q %+v", i, res.Output, res)
			}
		})
	}
	wg.Wait()
	if res := bash(t, s, "ls /tmp | wc -l"); string(res.Output) != "8\n" {
		t.Errorf("%q", res.Output)
	}
}

func TestOutputStreamsWhileTheCommandRuns(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.StreamBytes = 5000 })
	var got bytes.Buffer
	first := make(chan struct{})
	once := sync.OnceFunc(func() { close(first) })
	done := make(chan sandbox.ExecResult)
	go func() {
		done <- do(t, s, sandbox.ExecReq{
			Command: "printf 'one é'; read x < <(sleep 60 & while [ ! -e go ]; do sleep 0.01; done; kill $!; echo); seq 10000",
			OnOutput: func(st sandbox.Stream, chunk []byte) {
				if st != sandbox.StreamOutput {
					t.Errorf("stream %d", st)
				}
				got.Write(chunk)
				once()
			},
		})
	}()
	select {
	case <-first:
	case <-time.After(time.Minute):
		t.Error("no output while the command ran")
	}
	bash(t, s, "touch go")
	res := <-done
	if !strings.HasPrefix(got.String(), "one é1\n2\n") || got.Len() > 5000 || got.Len() < 4900 {
		t.Errorf("streamed %d bytes: %.40q", got.Len(), got.String())
	}
	want := 48894 + len("one é")
	if res.TotalBytes != int64(want) || !res.Truncated || !bytes.HasSuffix(res.Output, []byte("\n9999\n10000\n")) {
		t.Errorf("total %d (want %d), truncated %v", res.TotalBytes, want, res.Truncated)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	var mu sync.Mutex
	var records []sandbox.Record
	w := newWorld(t, func(c *sandbox.Config) {
		c.Audit = func(r sandbox.Record) { mu.Lock(); defer mu.Unlock(); records = append(records, r) }
	})
	s := w.thread("a")
	var streamed bytes.Buffer
	res := do(t, s, sandbox.ExecReq{
		Command: "echo $TOKEN; printf s3cr; sleep 0.2; printf et-value; echo; echo ${#TOKEN} # s3cret-value",
		Secrets: map[string]string{"TOKEN": "s3cret-value"}, Env: map[string]string{"PLAIN": "visible"},
		OnOutput: func(_ sandbox.Stream, b []byte) { streamed.Write(b) },
		Origin:   sandbox.Origin{User: "u", Run: "r", ToolCall: "c"},
	})
	if want := "****\n****\n12\n"; string(res.Output) != want || streamed.String() != want {
		t.Errorf("output %q, streamed %q", res.Output, streamed.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	r := records[0]
	if strings.Contains(fmt.Sprintf("%+v", r), "s3cret") || r.Thread != "a" || r.Provider != "namespace" ||
		r.Origin.ToolCall != "c" || strings.Join(r.Env, ",") != "PLAIN,TOKEN" || len(r.SHA256) != 64 || r.Bytes == 0 ||
		r.Took <= 0 || len(r.Layers) < 10 || !strings.HasSuffix(r.Head, "# ****") {
		t.Errorf("record: %+v", r)
	}
}

func TestOwnersFoldersCanBeShown(t *testing.T) {
	shared := t.TempDir()
	mustWrite(t, filepath.Join(shared, "data.txt"), "shared")
	mustWrite(t, filepath.Join(shared, "keys", "id"), "private")
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *sandbox.Config) { c.Secrets = []string{filepath.Join(shared, "keys")} })
	s := w.thread("a", func(p *sandbox.Policy) {
		p.Binds = []sandbox.Bind{{Dir: shared, Path: "/mnt/project", ReadOnly: true}, {Dir: shared, Path: "/srv/rw"}}
	})
	res := bash(t, s, "cat /mnt/project/data.txt; touch /mnt/project/x 2>/dev/null || echo ' ro'; touch /srv/rw/made && echo rw; cat /mnt/project/keys/id /srv/rw/keys/id 2>/dev/null || echo hidden")
	if string(res.Output) != "shared ro\nrw\nhidden\n" {
		t.Errorf("%q", res.Output)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, b := range map[string]sandbox.Bind{
		"socket":          {Dir: socket, Path: "/mnt/socket"},
		"data folder":     {Dir: w.cfg.Dirs.Root, Path: "/mnt/x"},
		"above data":      {Dir: filepath.Dir(w.cfg.Dirs.Root), Path: "/mnt/x"},
		"below data":      {Dir: filepath.Join(w.cfg.Dirs.Root, "threads"), Path: "/mnt/x"},
		"everything":      {Dir: "/", Path: "/mnt/x"},
		"missing":         {Dir: "/no/such", Path: "/mnt/x"},
		"over the files":  {Dir: shared, Path: "/mnt/user-data/workspace/x"},
		"over the system": {Dir: shared, Path: "/usr/local"},
		"over proc":       {Dir: shared, Path: "/proc/x"},
		"unclean":         {Dir: shared, Path: "/mnt/../etc"},
		"root":            {Dir: shared, Path: "/"},
	} {
		p := sandbox.DefaultPolicy()
		p.Network, p.Binds = sandbox.NetworkNone, []sandbox.Bind{b}
		s, err := w.provider.Acquire(t.Context(), sandbox.ThreadRef{ID: "b"}, p)
		if err == nil {
			_, err = s.Exec(t.Context(), sandbox.ExecReq{Command: "true"})
		}
		if !errors.Is(err, sandbox.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDestroyAndClose(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	bash(t, s, "sleep 300 &")
	running := make(chan sandbox.ExecResult)
	go func() { running <- do(t, s, sandbox.ExecReq{Command: "touch started; sleep 300"}) }()
	waitFor(t, "the command", func() bool { return string(bash(t, s, "ls started 2>/dev/null").Output) != "" })
	if err := w.provider.Destroy(t.Context(), sandbox.ThreadRef{ID: "a"}, "the thread was deleted"); err != nil {
		t.Error(err)
	}
	res := <-running
	if !res.Cancelled || res.SandboxRestarted || res.Signal != "SIGKILL" ||
		!strings.Contains(strings.Join(res.Notes, ""), "the thread was deleted") {
		t.Errorf("running command: %+v", res)
	}
	if _, err := s.Exec(t.Context(), sandbox.ExecReq{Command: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("after Destroy: %v", err)
	}
	if s := w.thread("a"); string(bash(t, s, "pgrep -c sleep").Output) != "0\n" {
		t.Error("a process outlived Destroy")
	}
	b := w.thread("b")
	bash(t, b, "true")
	for range 2 {
		if err := w.provider.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Exec(t.Context(), sandbox.ExecReq{Command: "true"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("after Close: %v", err)
	}
	_, err := w.provider.Acquire(t.Context(), sandbox.ThreadRef{ID: "b"}, sandbox.DefaultPolicy())
	if !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("Acquire after Close: %v", err)
	}
}
