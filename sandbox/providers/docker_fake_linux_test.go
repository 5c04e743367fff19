package providers_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fakeEngine answers to the requests of an engine that are used here. Its
// containers are real processes in namespaces, made with the tools of the
// system, and its images are the programs of this host.
type fakeEngine struct {
	socket      string
	api, oldest string // versions it speaks
	dir         string
	server      *http.Server
	work        sync.WaitGroup

	mu         sync.Mutex
	images     map[string]bool           // guarded by mu, as all below
	containers map[string]*fakeContainer // by id
	execs      map[string]*fakeExec      // by id
	created    []json.RawMessage         // bodies of requests
	paths      []string                  // of requests
	next       int
}

type fakeContainer struct {
	body struct {
		Image, User string
		Entrypoint  []string
		Labels      map[string]string
		HostConfig  struct {
			NetworkMode string
			Mounts      []struct {
				Source, Target string
				ReadOnly       bool
			}
			Tmpfs map[string]string
		}
	}
	id   string
	conn net.Conn
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

type fakeExec struct {
	container *fakeContainer
	command   []string
	running   bool
}

// newFakeEngine starts one that has an image with the name fake.
func newFakeEngine(t testing.TB) *fakeEngine {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "setpriv", "mount", "ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			unavailable(t, err.Error())
		}
	}
	if out, err := exec.Command("unshare",
		isolation("--mount", "--pid", "--fork", "true")...).CombinedOutput(); err != nil {
		unavailable(t, fmt.Sprintf("unshare: %v %s", err, out))
	}
	e := &fakeEngine{
		dir: openDir(t), api: "1.41", oldest: "1.12", images: map[string]bool{"fake": true},
		containers: map[string]*fakeContainer{}, execs: map[string]*fakeExec{},
	}
	e.socket = filepath.Join(e.dir, "engine.sock")
	l, err := net.Listen("unix", e.socket)
	if err != nil {
		t.Fatal(err)
	}
	e.server = &http.Server{Handler: e.handler()}
	e.work.Go(func() { _ = e.server.Serve(l) })
	t.Cleanup(func() {
		_ = e.server.Close()
		e.mu.Lock()
		var all []*fakeContainer
		for _, c := range e.containers {
			all = append(all, c)
		}
		e.mu.Unlock()
		for _, c := range all {
			e.remove(c)
		}
		e.work.Wait()
	})
	return e
}

// isolation is how an ordinary user asks for namespaces: as root of her own.
func isolation(args ...string) []string {
	if os.Getuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	return args
}

func (e *fakeEngine) handler() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		options := []string{"name=seccomp,profile=default"}
		if os.Getuid() != 0 {
			options = append(options, "name=rootless")
		}
		answer(w, http.StatusOK, map[string]any{"OSType": "linux", "ServerVersion": "fake", "MemoryLimit": true,
			"PidsLimit": true, "SecurityOptions": options})
	})
	api.HandleFunc("GET /images/{name}/json", func(w http.ResponseWriter, r *http.Request) {
		if !e.has(r.PathValue("name")) {
			answer(w, http.StatusNotFound, map[string]string{"message": "No such image"})
			return
		}
		answer(w, http.StatusOK, map[string]string{"Id": "x"})
	})
	api.HandleFunc("POST /images/create", func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Query().Get("fromImage")
		answer(w, http.StatusOK, map[string]string{"status": "fetching"})
		if strings.HasPrefix(name, "broken") {
			answer(w, 0, map[string]string{"error": "the registry is on holiday"})
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.images[strings.TrimSuffix(name, ":latest")] = true
	})
	api.HandleFunc("GET /containers/json", e.list)
	api.HandleFunc("POST /containers/create", e.create)
	api.HandleFunc("POST /containers/{id}/attach", e.container(e.attach))
	api.HandleFunc("POST /containers/{id}/start", e.container(e.start))
	api.HandleFunc("POST /containers/{id}/exec", e.container(e.newExec))
	api.HandleFunc("DELETE /containers/{id}",
		e.container(func(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
			e.remove(c)
			w.WriteHeader(http.StatusNoContent)
		}))
	api.HandleFunc("POST /exec/{id}/start", e.exec)
	api.HandleFunc("GET /exec/{id}/json", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if x := e.execs[r.PathValue("id")]; x != nil {
			answer(w, http.StatusOK, map[string]bool{"Running": x.running})
			return
		}
		answer(w, http.StatusNotFound, map[string]string{"message": "No such exec"})
	})
	all := http.NewServeMux()
	all.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"ApiVersion": e.api, "MinAPIVersion": e.oldest,
			"Components": []map[string]string{{"Name": "Engine"}}})
	})
	all.HandleFunc("/{version}/", func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.paths = append(e.paths, r.URL.Path)
		e.mu.Unlock()
		http.StripPrefix("/"+r.PathValue("version"), api).ServeHTTP(w, r)
	})
	return all
}

func answer(w http.ResponseWriter, status int, body any) {
	if status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
	}
	_ = json.NewEncoder(w).Encode(body)
}

func (e *fakeEngine) has(image string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.images[image]
}

func (e *fakeEngine) id() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	return "c" + strconv.Itoa(e.next)
}

func (e *fakeEngine) container(h func(http.ResponseWriter, *http.Request, *fakeContainer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		c := e.containers[r.PathValue("id")]
		e.mu.Unlock()
		if c == nil {
			answer(w, http.StatusNotFound, map[string]string{"message": "No such container"})
			return
		}
		h(w, r, c)
	}
}

func (e *fakeEngine) list(w http.ResponseWriter, r *http.Request) {
	var filters struct{ Label []string }
	if err := json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters); err != nil || len(filters.Label) != 1 {
		answer(w, http.StatusBadRequest, map[string]string{"message": "bad filters"})
		return
	}
	name, value, _ := strings.Cut(filters.Label[0], "=")
	all := []map[string]any{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.containers {
		if c.body.Labels[name] == value {
			all = append(all, map[string]any{"Id": c.id, "Labels": c.body.Labels})
		}
	}
	answer(w, http.StatusOK, all)
}

func (e *fakeEngine) create(w http.ResponseWriter, r *http.Request) {
	c := &fakeContainer{id: e.id(), over: make(chan struct{})}
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &c.body)
	}
	switch {
	case err != nil:
		answer(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
	case !e.has(c.body.Image):
		answer(w, http.StatusNotFound, map[string]string{"message": "No such image"})
	default:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.containers[c.id] = c
		e.created = append(e.created, text)
		answer(w, http.StatusCreated, map[string]string{"Id": c.id})
	}
}

// takeOver makes a connection of a request, and keeps it before the other side
// knows.
func takeOver(w http.ResponseWriter, keep func(net.Conn)) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	keep(conn)
	if _, err := io.WriteString(conn,
		"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"); err != nil {
		_ = conn.Close()
		return nil
	}
	return conn
}

func (e *fakeEngine) attach(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
	takeOver(w, func(conn net.Conn) {
		e.mu.Lock()
		defer e.mu.Unlock()
		c.conn = conn
	})
}

// framer writes what processes write as frames of one connection.
type framer struct {
	mu   sync.Mutex
	conn net.Conn
}

func (f *framer) stream(n byte) io.Writer { return framed{f, n} }

type framed struct {
	*framer
	n byte
}

func (f framed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := binary.BigEndian.AppendUint32([]byte{f.n, 0, 0, 0}, uint32(len(p)))
	if _, err := f.conn.Write(append(head, p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// run runs a program with a connection as its input and output, and calls ended
// when it has ended. The connection is closed when nobody can write any more.
func (e *fakeEngine) run(cmd *exec.Cmd, conn net.Conn, ended func()) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	f := &framer{conn: conn}
	var copies sync.WaitGroup
	var ends []*os.File
	for i, to := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		*to = w
		ends = append(ends, w)
		copies.Go(func() {
			_, _ = io.Copy(f.stream(byte(i+1)), r)
			_, _ = io.Copy(io.Discard, r)
			_ = r.Close()
		})
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	for _, w := range ends {
		_ = w.Close()
	}
	if err != nil {
		return err
	}
	e.work.Go(func() {
		_, _ = io.Copy(in, conn)
		_ = in.Close()
	})
	e.work.Go(func() {
		_ = cmd.Wait()
		ended()
	})
	e.work.Go(func() {
		copies.Wait()
		_ = conn.Close()
	})
	return nil
}

// containerScript makes the files of a container and becomes its process 1.
const containerScript = `
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755,nosuid,nodev none "$ROOT"
cd "$ROOT"
mkdir -p usr proc dev/shm etc mnt home
mount --rbind /usr usr
for dir in bin sbin lib lib32 lib64 libx32; do
  if [ -L /$dir ]; then cp -P /$dir $dir; elif [ -d /$dir ]; then mkdir $dir; mount --rbind /$dir $dir; fi
done
cp /etc/ld.so.cache etc/ 2>/dev/null || true
mount -t proc none proc
for dev in null zero full random urandom; do : > dev/$dev; mount --bind /dev/$dev dev/$dev; done
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 none dev/shm
while IFS='|' read -r kind src dst ro; do
  if [ $kind = tmpfs ]; then mkdir -p ".$dst"; mount -t tmpfs -o "$src" none ".$dst"; continue; fi
  if [ -d "$src" ]; then mkdir -p ".$dst"; else mkdir -p ".${dst%/*}"; [ -e ".$dst" ] || : > ".$dst"; fi
  mount --bind "$src" ".$dst"
  if [ -n "$ro" ]; then mount -o remount,bind,ro ".$dst"; fi
done <<< "$MOUNTS"
ip link set lo up 2>/dev/null || true
mount -o remount,bind,ro,nosuid,nodev "$ROOT"
exec chroot "$ROOT" /usr/bin/env -i setpriv $DROP "$@"
`
