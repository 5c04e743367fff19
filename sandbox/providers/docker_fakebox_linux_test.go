package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"fawn/sandbox"
)

// drop are the arguments that take everything from a program.
func (c *fakeContainer) drop() []string {
	user, group, _ := strings.Cut(c.body.User, ":")
	args := []string{"--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--reuid=" + user, "--regid=" + group}
	if os.Getuid() == 0 {
		return append(args, "--clear-groups")
	}
	return append(args, "--keep-groups")
}

func (e *fakeEngine) start(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
	root := filepath.Join(e.dir, c.id)
	var mounts []string
	for at, options := range c.body.HostConfig.Tmpfs {
		var kept []string
		for _, o := range strings.Split(options, ",") {
			if strings.HasPrefix(o, "mode=") || strings.HasPrefix(o, "size=") || o == "ro" {
				kept = append(kept, o)
			}
		}
		mounts = append(mounts, fmt.Sprintf("tmpfs|%s|%s|", strings.Join(kept, ","), at))
	}
	for _, m := range c.body.HostConfig.Mounts {
		mounts = append(mounts,
			fmt.Sprintf("bind|%s|%s|%s", m.Source, m.Target, map[bool]string{true: "ro"}[m.ReadOnly]))
	}
	// What is below comes later.
	slices.SortStableFunc(mounts, func(a, b string) int {
		return strings.Count(strings.Split(a, "|")[2], "/") - strings.Count(strings.Split(b, "|")[2], "/")
	})
	args := []string{"--mount", "--pid", "--ipc", "--uts", "--fork"}
	if c.body.HostConfig.NetworkMode == "none" {
		args = append(args, "--net")
	}
	args = append(isolation(args...), "bash", "-c", containerScript, "bash")
	e.mu.Lock()
	conn := c.conn
	e.mu.Unlock()
	err := os.Mkdir(root, 0o755)
	if err == nil {
		c.cmd = exec.Command("unshare", append(args, c.body.Entrypoint...)...)
		c.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ROOT=" + root,
			"MOUNTS=" + strings.Join(mounts, "\n"), "DROP=" + strings.Join(c.drop(), " ")}
		err = e.run(c.cmd, conn, func() {
			_ = os.Remove(root)
			close(c.over)
			e.mu.Lock()
			defer e.mu.Unlock()
			delete(e.containers, c.id)
		})
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, map[string]string{"message": err.Error()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// inside finds process 1 of a container, which is the only child of the program
// that made its namespaces.
func (c *fakeContainer) inside() int {
	pid := strconv.Itoa(c.cmd.Process.Pid)
	for {
		select {
		case <-c.over:
			return 0
		default:
		}
		b, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
		if err != nil {
			return 0
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			return n
		}
	}
}

// remove ends a container and waits for its end.
func (e *fakeEngine) remove(c *fakeContainer) {
	if c.cmd == nil || c.cmd.Process == nil {
		e.mu.Lock()
		delete(e.containers, c.id)
		e.mu.Unlock()
		if c.conn != nil {
			_ = c.conn.Close()
		}
		return
	}
	if pid := c.inside(); pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-c.over
}

func (e *fakeEngine) newExec(w http.ResponseWriter, r *http.Request, c *fakeContainer) {
	var body struct{ Cmd []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
		return
	}
	id := e.id()
	e.mu.Lock()
	e.execs[id] = &fakeExec{container: c, command: body.Cmd}
	e.mu.Unlock()
	answer(w, http.StatusCreated, map[string]string{"Id": id})
}

func (e *fakeEngine) exec(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	x := e.execs[r.PathValue("id")]
	e.mu.Unlock()
	if x == nil {
		answer(w, http.StatusNotFound, map[string]string{"message": "No such exec"})
		return
	}
	pid := x.container.inside()
	if pid == 0 {
		answer(w, http.StatusConflict, map[string]string{"message": "the container is not running"})
		return
	}
	args := []string{"--target", strconv.Itoa(pid), "--mount", "--pid", "--ipc", "--uts", "--net", "--root", "--wd"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--preserve-credentials")
	}
	// Its parent must not stop when it is stopped, as nsenter itself would.
	args = append(args, "--no-fork", "/usr/bin/env", "-i", "bash", "-c", `"$@" <&0 & wait`, "bash", "setpriv")
	args = append(args, x.container.drop()...)
	conn := takeOver(w, func(net.Conn) {})
	if conn == nil {
		return
	}
	e.mu.Lock()
	x.running = true
	e.mu.Unlock()
	err := e.run(exec.Command("nsenter", append(args, x.command...)...), conn, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		x.running = false
	})
	if err != nil {
		_ = conn.Close()
	}
}

// bodies are the requests for containers so far.
func (e *fakeEngine) bodies() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b bytes.Buffer
	for _, c := range e.created {
		b.Write(c)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// use makes a provider use this engine.
func (e *fakeEngine) use(c *sandbox.Config) {
	c.Engine = sandbox.Engine{Socket: e.socket, Image: "fake"}
}
