package ns_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/ns"
)

func mustWrite(t testing.TB, name, content string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(content), 0o644))
}

// groupTree is a picture of a host's control groups in ordinary files.
func groupTree(t *testing.T, files map[string]string) (proc, group string) {
	t.Helper()
	root := t.TempDir()
	proc, group = filepath.Join(root, "proc"), filepath.Join(root, "cgroup", "fawn.service")
	mustWrite(t, filepath.Join(proc, "self", "cgroup"), "4:memory:/old\n0::/fawn.service\n")
	mustWrite(t, filepath.Join(proc, "self", "mountinfo"),
		fmt.Sprintf("30 20 0:1 / /proc rw - proc proc rw\n31 20 0:26 / %s rw shared:4 - cgroup2 cgroup2 rw\n",
			filepath.Dir(group)))
	for name, content := range files {
		mustWrite(t, filepath.Join(group, name), content)
	}
	return proc, group
}

func TestControlGroupsAreUsedWhereDelegated(t *testing.T) {
	own := fmt.Sprint(os.Getpid())
	good := map[string]string{"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.procs": own + "\n",
		"cgroup.subtree_control": ""}
	proc, group := groupTree(t, good)
	if err := unix.Setxattr(group, "user.delegate", []byte("1"), 0); err != nil {
		t.Skip("this disk keeps no attributes:", err)
	}
	limits := sandbox.DefaultPolicy().Limits
	limits.CPU = 1.5
	dir := must.Get(ns.OpenCgroup(proc, limits))(t)
	for name, want := range map[string]string{
		group + "/server/cgroup.procs": own, group + "/cgroup.subtree_control": "+memory +pids +cpu",
		dir + "/memory.max": "1073741824", dir + "/memory.swap.max": "0", dir + "/pids.max": "320",
		dir + "/cpu.max": "150000 100000",
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
			must.Do(t, unix.Setxattr(group, "user.delegate", []byte("1"), 0))
			c.change(proc, group)
			t.Cleanup(func() { os.Chmod(group, 0o755) })
			if _, err := ns.OpenCgroup(proc, limits); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTheControlGroupOfAContainerIsUsed(t *testing.T) {
	own := fmt.Sprint(os.Getpid())
	good := map[string]string{"cgroup.controllers": "memory pids\n", "cgroup.procs": own + "\n",
		"cgroup.subtree_control": "", "cgroup.type": "domain\n"}
	// inside turns the group into the top of what the server sees, as a container with a namespace of groups has it.
	inside := func(t *testing.T, path string, files map[string]string) (proc, group string) {
		t.Helper()
		proc, group = groupTree(t, files)
		mustWrite(t, proc+"/self/cgroup", "0::"+path+"\n")
		mustWrite(t, proc+"/self/mountinfo", fmt.Sprintf("31 20 0:26 / %s rw - cgroup2 cgroup2 rw\n", group))
		return proc, group
	}
	limits := sandbox.DefaultPolicy().Limits
	for name, path := range map[string]string{"its server": "/", "a program that enters it": "/server"} {
		t.Run(name, func(t *testing.T) {
			proc, group := inside(t, path, good)
			if path != "/" { // the server has left the top
				mustWrite(t, group+"/cgroup.procs", "")
				mustWrite(t, group+"/server/cgroup.procs", "1\n"+own+"\n")
			}
			dir := must.Get(ns.OpenCgroup(proc, limits))(t)
			if b, err := os.ReadFile(dir + "/memory.max"); err != nil || string(b) != "1073741824" ||
				filepath.Dir(dir) != group {
				t.Errorf("%s has %q, %v", dir, b, err)
			}
		})
	}
	t.Run("others in it", func(t *testing.T) {
		proc, group := inside(t, "/", good)
		mustWrite(t, group+"/cgroup.procs", own+"\n1\n")
		if _, err := ns.OpenCgroup(proc, limits); err == nil || !strings.Contains(err.Error(), "other programs") {
			t.Error(err)
		}
	})
	t.Run("the machine's own", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root may write to the group of the whole machine")
		}
		proc, group := inside(t, "/", good)
		must.Do(t, os.Remove(group+"/cgroup.type"))
		if _, err := ns.OpenCgroup(proc, limits); err == nil || !strings.Contains(err.Error(), "delegated") {
			t.Error(err)
		}
	})
	t.Run("below the top", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("what another user may write to is that user's")
		}
		proc, group := inside(t, "/fawn.service", good)
		for name, content := range good {
			mustWrite(t, filepath.Join(group, "fawn.service", name), content)
		}
		if _, err := ns.OpenCgroup(proc, limits); err == nil || !strings.Contains(err.Error(), "delegated") {
			t.Error(err)
		}
	})
}
