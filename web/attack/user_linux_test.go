package attack_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/e2e/gate"
)

// TestAttacksAsOrdinaryUser makes all attacks again on a server without root.
func TestAttacksAsOrdinaryUser(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks as the user who runs it")
	needsPython(t)
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	t.Parallel()
	// A user of this run's own: limits count all processes of a user.
	user := 40_000 + os.Getpid()%20_000
	dir, err := os.MkdirTemp("", "fawn-user-")
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Chown(filepath.Join(dir, "tmp"), user, user)))
	self, err := os.Executable()
	must.Do(t, err)
	// Written by this process, it could be busy: others start programs at the same time.
	out, err := exec.CommandContext(t.Context(), "install", "-m", "755", self,
		filepath.Join(dir, "test")).CombinedOutput()
	must.Do(t, err, string(out))
	programs := programFolder(t)
	must.Do(t, os.Chown(programs, user, user))
	for _, names := range [][]string{
		{"TestAttacksThroughTheChat", "TestResourcesThroughTheChat", "TestTheSameChecksFireWithoutASandbox"},
		// Here the server hides from its user, which the others do not expect.
		{"TestAttacksWithoutNamespaces", "TestPrivateFilesAmongPrograms"},
		// Nobody else may take processes of this user: a writer that cannot fork would end too early.
		{"TestResourcesWithoutNamespaces"},
	} {
		runAs(t, user, dir, names, programsVariable+"="+programs)
	}
}

// runAs runs tests of this program as another user.
func runAs(t *testing.T, user int, dir string, names []string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.v", "-test.run",
		"^("+strings.Join(names, "|")+")$")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"),
		"FAWN_ATTACK_KEY=" + secret + "environment"}
	cmd.Env = append(append(cmd.Env, gate.Env()...), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	out, err := cmd.CombinedOutput()
	must.Do(t, err, string(out))
	for _, name := range names {
		if !bytes.Contains(out, []byte("--- PASS: "+name+" ")) && !bytes.Contains(out, []byte("--- SKIP: "+name+" ")) {
			t.Errorf("%s did not run:\n%s", name, out)
		}
	}
}
