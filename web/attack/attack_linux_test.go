// Package attack_test attacks the sandbox through the chat: a scripted model calls the
// tools, and each case looks at what the model was told and at the host afterwards.
package attack_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/ns"
	"fawn/web/e2e/gate"
	"fawn/web/webtest"
)

// TestMain lets the test binary stand in for the small program that sandboxes start.
func TestMain(m *testing.M) {
	ns.Reexec()
	if err := os.Setenv("FAWN_ATTACK_KEY", secret+"environment"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	webtest.Wide(6)
	os.Exit(m.Run())
}

// attack is something the model tries.
type attack struct {
	name string
	// shell is a script that the model writes and runs.
	shell string
	// during is what a client does then, while what the script left behind runs on.
	during func(t *testing.T, w *world, thread string) (told string)
	// uses are calls of the model after that.
	uses []use
	// want is a regular expression for all that was told: it was tried, and refused.
	want string
	// always says that this is what is told without namespaces, too.
	always bool
	// host looks for more damage than all cases look for.
	host func(t *testing.T, w *world, thread string) (damage []string)
}

// try makes an attack in a thread and returns what was told.
func (w *world) try(t *testing.T, thread string, a attack) string {
	t.Helper()
	var turns [][]use
	if a.shell != "" {
		turns = w.script(a.shell)
	}
	var told []string
	if a.during != nil {
		if len(turns) > 0 {
			told = append(told, w.chat(t, thread, turns...)[1:]...)
		}
		told = append(told, a.during(t, w, thread))
		turns = nil
	}
	wrote := len(turns) > 0
	if len(a.uses) > 0 {
		turns = append(turns, a.uses)
	}
	if len(turns) > 0 {
		answers := w.chat(t, thread, turns...)
		if wrote {
			answers = answers[1:] // about the script
		}
		told = append(told, answers...)
	}
	return strings.Join(told, "\n")
}

// id makes a name a thread's.
func id(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
}

func TestAttacksThroughTheChat(t *testing.T) {
	w := newWorld(t, "")
	w.must(t, sandbox.ProviderNamespace)
	w.settleVictim(t)
	all := slices.Concat(onFiles(), onKernel(), onOthers(), onNeighbours(), onNetwork(), withPaths(), withLinks(),
		withRaces(), onRoutes())
	if len(all) < 100 {
		t.Errorf("%d attacks", len(all))
	}
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			// Numbers of system calls are those of amd64.
			if strings.Contains(a.shell, "l.syscall(") && runtime.GOARCH != "amd64" {
				t.Skip("written for amd64")
			}
			thread := id(a.name)
			told := w.try(t, thread, a)
			if !regexp.MustCompile(a.want).MatchString(told) {
				t.Errorf("told %q, want %s", told, a.want)
			}
			damage := w.damage(t, thread, told)
			if a.host != nil {
				damage = append(damage, a.host(t, w, thread)...)
			}
			for _, d := range damage {
				t.Error(d)
			}
		})
	}
}

// TestAttacksWithoutNamespaces makes the same attacks on the Landlock provider. Its answers
// are others, but nothing may come of them.
func TestAttacksWithoutNamespaces(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks sandboxes with namespaces")
	t.Parallel()
	w := newWorld(t, "sandbox: {provider: landlock}\n")
	w.plain = true
	w.must(t, sandbox.ProviderLandlock)
	some := slices.DeleteFunc(slices.Concat(onOthers(), onNetwork()), func(a attack) bool {
		return !slices.Contains([]string{"kill processes of the host", "read environments", "ports of the host",
			"sockets of the host", "families of sockets", "datagrams and names", "change the network"}, a.name)
	})
	for _, a := range slices.Concat(onFiles(), onKernel(), onNeighbours(), withLinks(), some) {
		t.Run(a.name, func(t *testing.T) {
			if strings.Contains(a.shell, "l.syscall(") && runtime.GOARCH != "amd64" {
				t.Skip("written for amd64")
			}
			thread := id(a.name)
			told := w.try(t, thread, a)
			if a.always && !regexp.MustCompile(a.want).MatchString(told) {
				t.Errorf("told %q, want %s", told, a.want)
			}
			for _, d := range w.damage(t, thread, told) {
				t.Errorf("%s; told %.600q", d, told)
			}
		})
	}
}

// settleVictim gives a thread things in its own sandbox that others must not reach.
func (w *world) settleVictim(t *testing.T) {
	t.Helper()
	told := w.chat(t, "victim", w.script(`
echo CANARY-tmp > /tmp/private; echo CANARY-home > ~/private; echo CANARY-shm > /dev/shm/private
cat > /tmp/serve.py <<'END'
import ctypes, os, socket, threading
l = ctypes.CDLL(None)
l.shmget(0x5eed, 4096, 0o1666)
def serve(s):
    s.listen()
    open("/tmp/up", "a").write("x")
    while True:
        c, _ = s.accept()
        c.send(b"CANARY-victim")
        c.close()
a = socket.socket(socket.AF_UNIX); a.bind("\0fawn-victim")
b = socket.socket(); b.bind(("127.0.0.1", 4999))
threading.Thread(target=serve, args=(a,)).start()
serve(b)
END
KEY=CANARY-victim-environment setsid python3 /tmp/serve.py >/dev/null 2>&1 </dev/null &
until [ "$(cat /tmp/up 2>/dev/null)" = xx ]; do sleep 0.02; done
echo settled`)...)
	if !strings.Contains(told[len(told)-1], "settled") {
		t.Fatal(told)
	}
	w.before = w.state()
}
