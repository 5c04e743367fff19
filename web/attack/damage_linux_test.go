package attack_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// mark begins the names of everything that attacks try to leave somewhere. The same attacks
// run as another user at the same time, and may run twice on a machine: what those leave is not for
// this process to find.
var mark = fmt.Sprintf("fawn-attack-%d-", os.Getpid())

// mark is what the attacks of a world leave. Without namespaces it is another one: processes of such a world are
// those of the host, and attacks in others are made at the same time.
func (w *world) mark() string {
	if w.plain {
		return fmt.Sprintf("fawn-plain-%d-", os.Getpid())
	}
	return mark
}

// state describes everything on the host that attacks go for and that must stay as it is.
func (w *world) state() string {
	var b strings.Builder
	for _, dir := range []string{w.outside, filepath.Join(w.data, "threads", "victim")} {
		b.WriteString(tree(dir))
	}
	for _, name := range []string{filepath.Join(w.data, "secrets.env"),
		filepath.Join(filepath.Dir(w.data), "config.yaml"), "/etc/passwd", "/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/hostname", "/proc/sys/user/max_user_namespaces", "/proc/sys/vm/overcommit_memory"} {
		content, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %x %v\n", name, sha256.Sum256(content), err)
	}
	names := []string{filepath.Join(w.data, "secrets.env"), filepath.Join(w.data, "fawn.db"), w.outside,
		filepath.Join(w.outside, "secret")}
	if os.Getuid() != 0 { // who opens the way through them to users of threads
		names = append(names, w.data, filepath.Join(w.data, "threads"))
	}
	for _, name := range names {
		b.WriteString(metadata(name))
	}
	fmt.Fprintf(&b, "the process of the host sleeps: %v\n", w.asleep())
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.neighbour.Process.Pid))
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	cpus, _, _ := strings.Cut(rest, "\n")
	nice, _ := syscall.Getpriority(syscall.PRIO_PROCESS, w.neighbour.Process.Pid)
	fmt.Fprintf(&b, "it runs on %s at %d %v\n", cpus, nice, err)
	return b.String()
}

// metadata describes a file beside its content: what the server itself does not change.
func metadata(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return err.Error() + "\n"
	}
	attributes := make([]byte, 1024)
	n, err := syscall.Listxattr(name, attributes)
	return fmt.Sprintf("%s %v %d, changed since 1970: %v, with %q %v\n", name, info.Mode(),
		info.Sys().(*syscall.Stat_t).Gid, info.ModTime().Unix() > 1000, attributes[:max(0, n)], err)
}

// asleep tells whether the process of the host sleeps, as it does once it has started.
func (w *world) asleep() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.neighbour.Process.Pid))
	return err == nil && strings.Contains(string(stat), ") S ")
}

// tree lists a folder with modes and contents.
func tree(dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(strings.TrimSuffix(name, ".part"), "/threads/victim/versions/snapshot") {
			return nil // the server's own note, which it writes anew with every run of that thread
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", name, info.Mode())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			fmt.Fprintf(&b, " %x %v", sha256.Sum256(content), err)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		fmt.Fprintln(&b, dir, err)
	}
	return b.String()
}

// damage is what an attack has done to the host, and which secrets came out.
func (w *world) damage(t *testing.T, thread, told string) (all []string) {
	t.Helper()
	if i := strings.Index(told, secret); i >= 0 {
		all = append(all, fmt.Sprintf("a secret came out: %.40q", told[i:]))
	}
	if now := w.state(); now != w.before {
		all = append(all, "the host changed:"+difference(w.before, now))
	}
	all = append(all, marks(w)...)
	all = append(all, planted(filepath.Join(w.data, "threads", thread))...)
	if !w.plain {
		all = append(all, outsiders()...)
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(b), "/threads/"+thread+"/") {
		all = append(all, fmt.Sprintf("a mount of the sandbox is on the host, or %v", err))
	}
	if status, body := w.send(t, "GET", "/ok", "", ""); status != 200 {
		all = append(all, "the server answers "+body)
	}
	return all
}

// difference shows the lines that only one of two texts has.
func difference(before, after string) string {
	var b strings.Builder
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, l := range old {
		if !slices.Contains(now, l) {
			b.WriteString("\n- " + l)
		}
	}
	for _, l := range now {
		if !slices.Contains(old, l) {
			b.WriteString("\n+ " + l)
		}
	}
	return b.String()
}

// marks looks for what attacks leave in folders of the host.
func marks(w *world) (all []string) {
	for _, dir := range []string{"/", "/usr", "/usr/bin", "/usr/local/bin", "/bin", "/lib", "/opt", "/etc",
		"/etc/cron.d", "/etc/profile.d", "/run", "/var", "/var/tmp", "/var/run", "/tmp", "/dev", "/dev/shm", "/home",
		"/root", "/srv", "/mnt", "/proc/sys", w.data, filepath.Join(w.data, "threads"), filepath.Dir(w.data),
		os.TempDir(), filepath.Join(w.data, "run")} {
		found, err := filepath.Glob(filepath.Join(dir, w.mark()+"*"))
		if err != nil {
			all = append(all, err.Error())
		}
		for _, name := range found {
			all = append(all, name+" was made on the host")
		}
	}
	return all
}

// planted looks for files that a user of the host might run as somebody else.
func planted(dir string) (all []string) {
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // folders come and go, and some are closed
		}
		if info, err := e.Info(); err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeDevice) != 0 {
			all = append(all, fmt.Sprintf("%s is %v", name, info.Mode()))
		}
		return nil
	})
	if err != nil {
		all = append(all, err.Error())
	}
	return all
}

// outsiders looks for processes that attacks started and that share this process's view of
// processes.
func outsiders() (all []string) {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return []string{err.Error()}
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range lines {
		b, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(b), mark) {
			continue
		}
		if ns, err := os.Readlink(filepath.Join(filepath.Dir(name), "ns", "pid")); err == nil && ns == own {
			all = append(all, fmt.Sprintf("%q runs on the host", b))
		}
	}
	return all
}
