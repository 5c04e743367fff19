package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
)

// groupTree is a picture of a host's control groups in ordinary files.
func groupTree(t *testing.T, files map[string]string) (proc, group string) {
	t.Helper()
	root := t.TempDir()
	proc, group = filepath.Join(root, "proc"), filepath.Join(root, "cgroup", "fawn.service")
	mustWrite(t, filepath.Join(proc, "self", "cgroup"), "4:memory:/old\n0::/fawn.service\n")
	mustWrite(t, filepath.Join(proc, "self", "mountinfo"), fmt.Sprintf("30 20 0:1 / /proc rw - proc proc rw\n31 20 0:26 / %s rw shared:4 - cgroup2 cgroup2 rw\n", filepath.Dir(group)))
	for name, content := range files {
		mustWrite(t, filepath.Join(group, name), content)
	}
	return proc, group
}

func TestControlGroupsAreUsedWhereDelegated(t *testing.T) {
	own := fmt.Sprint(os.Getpid())
	good := map[string]string{"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.procs": own + "\n", "cgroup.subtree_control": ""}
	proc, group := groupTree(t, good)
	if err := unix.Setxattr(group, "user.delegate", []byte("1"), 0); err != nil {
		t.Skip("this disk keeps no attributes:", err)
	}
	limits := sandbox.DefaultPolicy().Limits
	limits.CPU = 1.5
	dir, err := sandbox.OpenCgroup(proc, limits)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		group + "/server/cgroup.procs": own, group + "/cgroup.subtree_control": "+memory +pids +cpu",
		dir + "/memory.max": "1073741824", dir + "/memory.swap.max": "0", dir + "/pids.max": "320", dir + "/cpu.max": "150000 100000",
	} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s = %q, %v", name, b, err)
		}
	}
	for name, c := range map[string]struct {
		change func(proc, group string)
		want   string
	}{
		"not delegated":     {func(_, group string) { unix.Removexattr(group, "user.delegate"); os.Chmod(group, 0o555) }, "delegated"},
		"others in it":      {func(_, group string) { mustWrite(t, group+"/cgroup.procs", own+"\n1\n") }, "other programs"},
		"no memory":         {func(_, group string) { mustWrite(t, group+"/cgroup.controllers", "cpu pids\n") }, "no memory controller"},
		"version 1 only":    {func(proc, _ string) { mustWrite(t, proc+"/self/cgroup", "4:memory:/old\n") }, "no cgroup v2"},
		"not of this mount": {func(proc, _ string) { mustWrite(t, proc+"/self/cgroup", "0::/../x\n") }, "no cgroup v2"},
	} {
		t.Run(name, func(t *testing.T) {
			proc, group := groupTree(t, good)
			if err := unix.Setxattr(group, "user.delegate", []byte("1"), 0); err != nil {
				t.Fatal(err)
			}
			c.change(proc, group)
			t.Cleanup(func() { os.Chmod(group, 0o755) })
			if _, err := sandbox.OpenCgroup(proc, limits); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
