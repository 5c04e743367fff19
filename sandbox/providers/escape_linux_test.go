package providers_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fawn/sandbox"
)

// attack is something a command tries. The answer must show that it was tried
// and refused.
type attack struct{ name, command, want string }

const (
	missing  = `No such file or directory`
	denied   = `Permission denied`
	notPerm  = `Operation not permitted`
	readOnly = `Read-only file system`
)

// call makes a system call with Python and prints its error.
func call(args string) string {
	return `python3 -c 'import ctypes, os; l = ctypes.CDLL(None, use_errno=True); r = l.syscall(` + args +
		`); print(r, os.strerror(ctypes.get_errno()))'`
}

func socket(args string) string {
	return `python3 -c 'import socket; socket.socket(` + args + `); print("made")' 2>&1`
}

func attacksOnFiles() []attack {
	return []attack{
		{"secret of the host", `cat "$SECRET"`, missing},
		{"database", `cat "$DATA/fawn.db"`, missing},
		{"data folder", `ls "$DATA"`, missing},
		{"another thread", `cat "$DATA/threads/victim/user-data/workspace/private"`, missing},
		{"another thread from here", `cat /mnt/user-data/../../threads/victim/user-data/workspace/private ../../../victim/user-data/workspace/private`, missing},
		{"home of root", `ls /root`, missing},
		{"other homes", `ls /home; cat /home/*/.ssh/*`, `^agent\n.*` + missing},
		{"accounts", `cat /etc/shadow /etc/gshadow /etc/sudoers`, missing},
		{"keys of services", `ls /etc/ssh /etc/ssl/private/ /etc/NetworkManager`, missing},
		{"run", `ls -A /run /var/run /run/docker.sock`, missing},
		{"var", `ls -A /var`, `^tmp\n$`},
		{"boot, media, srv, sys", `ls /boot /media /srv /sys`, missing},
		{"root of process 1", `ls /proc/1/root/`, denied},
		{"files of process 1", `ls /proc/1/fd/ /proc/1/cwd/`, denied},
		{"program of process 1", `cat /proc/1/exe`, denied},
		{"root through own process", `cat "/proc/self/root/$SECRET" "/proc/self/cwd/../../../../$SECRET"`, missing},
		{"link to a secret", `ln -s "$SECRET" link; cat link`, missing},
		{"link to process 1", `ln -s /proc/1/root link1; ls link1/`, denied},
		{"hard link into the workspace", `ln /usr/bin/env hard`, `cross-device|` + notPerm},
		{"own program", `cat /.sbx/init`, denied},
		{"change own program", `cp /bin/true /.sbx/init; chmod 755 /.sbx/init; rm /.sbx/init`, readOnly},
		{"write to system", `touch /usr/x /usr/bin/x /opt/x /etc/x /x /run/x /var/x /mnt/x /home/x`, readOnly},
		{"change accounts", `echo evil >> /etc/passwd`, readOnly + "|" + denied},
		{"replace a shown folder", `mv /mnt/user-data/workspace /mnt/user-data/w; rmdir /mnt/user-data/uploads; rm -rf /mnt/user-data/outputs`, `busy|` + readOnly},
		{"devices of disks", `cat /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmem /dev/port /dev/kmsg /dev/fuse /dev/kvm /dev/vsock`, missing},
		{"make a device", `mknod disk b 254 0; mknod mem c 1 1; ls disk mem`, `(` + denied + `|` + notPerm + `)(.|\n)*` + missing},
		{"setuid file", `touch s; chmod u+s s; chmod 4755 s; chmod g+s s; stat -c '%a' s`, notPerm + `(.|\n)*644\n$`},
		{"setuid at once", `python3 -c 'import os; os.close(os.open("s2", os.O_CREAT | os.O_WRONLY, 0o4755))' 2>&1; stat -c '%a' s2 2>&1`, notPerm + `(.|\n)*` + missing},
		{"setuid unnamed", `python3 -c 'import os; os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755))' 2>&1`, notPerm},
		{"setuid by descriptor", `python3 -c 'import os; os.fchmod(os.open("s3", os.O_CREAT | os.O_RDWR), 0o6755)' 2>&1; stat -c %a s3`, notPerm},
		{"setuid pipe", `python3 -c 'import os; os.mknod("p", 0o14755)' 2>&1; stat -c %a p 2>&1`, notPerm},
		{"capability of a file", `python3 -c 'import os; open("c", "w"); os.setxattr("c", "security.capability", b"\1\0\0\2" + b"\xff" * 16)' 2>&1`, notPerm},
		{"give a file away", `touch o; chown 0 o; chown 65534 o; stat -c %u o`, `(` + notPerm + `|Invalid argument)(.|\n)*1000\n$`},
		{"handles of files", call(`303, -100, b"/", ctypes.create_string_buffer(200), ctypes.byref(ctypes.c_int()), 0`) + "; " + call(`304, -100, ctypes.create_string_buffer(200), 0`), notPerm + `(.|\n)*` + notPerm},
		{"left descriptors", `for i in $(seq 3 300); do [ -e /proc/$$/fd/$i ] && echo $i; done; echo end`, `^(255\n)?end\n$`},
		{"hidden parts of proc", `cat /proc/kcore /proc/keys /proc/kallsyms /proc/timer_list 2>/dev/null | wc -c`, `^0\n`},
		{"kernel log", `dmesg; cat /proc/kmsg`, notPerm},
		{"kernel settings", `echo '|/tmp/x' > /proc/sys/kernel/core_pattern; echo 1 > /proc/sys/vm/overcommit_memory`, readOnly + "|" + denied},
		{"system request key", `echo b > /proc/sysrq-trigger`, readOnly + "|" + denied + "|" + missing},
		{"firmware and control groups", `ls /sys/fs/cgroup /sys/firmware /proc/acpi/x`, missing},
	}
}

func attacksOnPrivileges() []attack {
	return []attack{
		{"become root", `python3 -c 'import os; os.setuid(0)' 2>&1; python3 -c 'import os; os.setgroups([0])' 2>&1; su -c id 2>&1; id -u`, notPerm + `(.|\n)*1000\n$`},
		{"regain capabilities", `grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u; grep NoNewPrivs /proc/self/status`, `^0000000000000000\nNoNewPrivs:\t1\n$`},
		{"new user namespace", `unshare -U true`, notPerm + "|No space"},
		{"new mount namespace", `unshare -m true; unshare -Urm true`, notPerm},
		{"new process and network namespaces", `unshare -p true; unshare -n true; unshare -i true; unshare -u true; unshare -C true`, notPerm},
		{"clone with a namespace", call(`56, 0x10000011, 0, 0, 0, 0`), `^-1 ` + notPerm},
		{"clone3", call(`435, ctypes.create_string_buffer(88), 88`), `^-1 Function not implemented`},
		{"allow namespaces again", `echo 100 > /proc/sys/user/max_user_namespaces`, readOnly + "|" + denied},
		{"map users", `echo '0 0 1' > /proc/self/uid_map`, notPerm + "|" + denied},
		{"enter namespaces", `nsenter -t 1 -m -p true; nsenter -t $$ -U true`, denied + `(.|\n)*` + notPerm},
		{"mount", `mount -t tmpfs x /tmp; mount --bind /usr /tmp; mount -t proc x /tmp`, `(` + denied + `|must be superuser|` + notPerm + `)`},
		{"mount by call", call(`165, b"x", b"/tmp", b"tmpfs", 0, 0`), `^-1 ` + notPerm},
		{"writable again", `mount -o remount,rw /usr; mount -o remount,rw,bind /`, `(` + denied + `|must be superuser|` + notPerm + `)`},
		{"unmount", `umount /mnt/user-data/workspace /proc/sys; umount -l /`, `(must be superuser|not permitted|` + denied + `)`},
		{"new kinds of mounts", strings.Join([]string{call(`428, -100, b"/", 0`), call(`429, -1, b"", -1, b"", 0`), call(`430, b"tmpfs", 0`), call(`431, 0, 0, 0, 0, 0`), call(`442, -100, b"/", 0, ctypes.create_string_buffer(32), 32`)}, "; "), `^(-1 ` + notPerm + `\n){5}$`},
		{"change the root", call(`161, b"/tmp"`) + "; " + call(`155, b".", b"."`), `^(-1 ` + notPerm + `\n){2}$`},
		{"trace process 1", call(`101, 16, 1, 0, 0`), `^-1 ` + notPerm},
		{"trace the parent", `python3 -c 'import ctypes, os; l = ctypes.CDLL(None, use_errno=True); print(l.ptrace(16, os.getppid(), 0, 0), os.strerror(ctypes.get_errno()))'`, `^-1 ` + notPerm},
		{"memory of others", call(`310, 1, 0, 0, 0, 0, 0`) + "; " + call(`311, 1, 0, 0, 0, 0, 0`), `^(-1 ` + notPerm + `\n){2}$`},
		{"memory of process 1", `cat /proc/1/mem /proc/1/maps /proc/1/environ /proc/1/stack`, denied},
		{"memory of the parent", `cat /proc/$PPID/mem /proc/$PPID/maps /proc/$PPID/environ; ls /proc/$PPID/fd`, denied},
		{"descriptor of another", call(`438, 3, 0, 0`), `^-1 ` + notPerm},
		{"kernel programs", call(`321, 0, 0, 0`), `^-1 ` + notPerm},
		{"performance events", call(`298, ctypes.create_string_buffer(128), 0, -1, -1, 0`), `^-1 ` + notPerm},
		{"page faults", call(`323, 0`), `^-1 ` + notPerm},
		{"asynchronous input", call(`425, 8, ctypes.create_string_buffer(120)`) + "; " + call(`426, 3, 1, 1, 0, 0, 0`), `^(-1 ` + notPerm + `\n){2}$`},
		{"keys of the kernel", call(`250, 0, -3, 1`) + "; " + call(`248, b"user", b"a", b"b", 1, -3`), `^(-1 ` + notPerm + `\n){2}$`},
		{"modules and kernels", call(`175, 0, 0, b""`) + "; " + call(`313, 0, b"", 0`) + "; " + call(`246, 0, 0, 0, 0`), `^(-1 ` + notPerm + `\n){3}$`},
		{"reboot", call(`169, 0xfee1dead, 672274793, 0x4321fedc, 0`), `^-1 ` + notPerm},
		{"clock", `date -s 2000-01-01; ` + call(`227, 0, ctypes.create_string_buffer(16)`), notPerm},
		{"host name", `hostname evil; ` + call(`170, b"evil", 4`), `-1 ` + notPerm},
		{"swap and accounts", call(`167, b"/x", 0`) + "; " + call(`163, b"/tmp/x"`) + "; " + call(`179, 0, 0, 0, 0`), `^(-1 ` + notPerm + `\n){3}$`},
		{"file watching of all", call(`300, 0, 0`), `^-1 ` + notPerm},
		{"ports and tables of the processor", call(`173, 0, 1, 1`) + "; " + call(`172, 3`) + "; " + call(`154, 0, 0, 0`), `^(-1 ` + notPerm + `\n){3}$`},
		{"personality", call(`135, 0x0040000`), `^-1 ` + notPerm},
		{"calls of another numbering", call(`0x40000000 + 39`), `^-1 Function not implemented`},
		{"type into a terminal", `python3 -c 'import os, fcntl, termios; m, s = os.openpty(); fcntl.ioctl(s, termios.TIOCSTI, b"x")' 2>&1`, notPerm},
		{"type into a terminal, high bits", `python3 -c 'import ctypes, os; l = ctypes.CDLL(None, use_errno=True); m, s = os.openpty(); print(l.syscall(16, s, ctypes.c_ulong(0x100005412), b"x"), os.strerror(ctypes.get_errno()))' 2>&1`, `^-1 ` + notPerm},
		{"priority", `nice -n -10 true; echo -1000 > /proc/self/oom_score_adj`, denied},
		{"raise limits", `ulimit -Hu unlimited; ulimit -Hn 100000; ulimit -Hc unlimited; ulimit -Hf unlimited`, `(cannot modify limit.*\n.*){4}`},
		{"take off the filter", `grep Seccomp: /proc/self/status; python3 -c 'import ctypes; l = ctypes.CDLL(None); print(l.prctl(22, 0))'`, `^Seccomp:\t2\n-1\n$`},
	}
}

func attacksOnOthers() []attack {
	return []attack{
		{"kill a process of the host", `kill -9 "$HOSTPID"`, `No such process`},
		{"look at a process of the host", `ls /proc/$HOSTPID /proc/$SERVERPID`, missing},
		{"list processes", `ps ax -o comm= | grep -v -E '^(ps|grep|bash|init|sort)$' | sort -u`, `^$`},
		{"port of the host", `: <>/dev/tcp/127.0.0.1/$PORT`, `Connection refused`},
		{"port of the host, IPv6", `: <>/dev/tcp/::1/$PORT`, `refused|Cannot assign`},
		{"metadata of the cloud", `: <>/dev/tcp/169.254.169.254/80`, `Network is unreachable`},
		{"the internet", `: <>/dev/tcp/1.1.1.1/443; : <>/dev/udp/8.8.8.8/53; echo x > /dev/udp/8.8.8.8/53`, `(Network is unreachable(.|\n)*){2}`},
		{"names", `getent hosts example.com; echo $?`, `^2\n$`},
		{"raw socket", socket("socket.AF_INET, socket.SOCK_RAW, 1"), notPerm},
		{"packets", socket("socket.AF_PACKET, socket.SOCK_RAW, 3"), `Address family not supported`},
		{"hypervisor", socket("40, socket.SOCK_STREAM"), `Address family not supported`},
		{"crypto of the kernel", socket("38, socket.SOCK_SEQPACKET"), `Address family not supported`},
		{"bluetooth, can, key, xdp", strings.Join([]string{socket("31, 3, 1"), socket("29, 3, 1"), socket("15, 3, 2"), socket("44, 3")}, "; "), `(not supported(.|\n)*){4}`},
		{"audit by netlink", socket("socket.AF_NETLINK, socket.SOCK_RAW, 9") + "; " + socket("socket.AF_NETLINK, socket.SOCK_RAW, 16") + "; " + socket("socket.AF_NETLINK, socket.SOCK_RAW, 0"), `(not supported(.|\n)*){2}made\n$`},
		{"change the network", `ip link add x type dummy 2>&1; ip addr add 10.0.0.1/8 dev lo 2>&1; echo 1 > /proc/sys/net/ipv4/ip_forward; python3 -c 'import socket, fcntl; fcntl.ioctl(socket.socket(), 0x8914, b"lo" + b"\0" * 30)' 2>&1`, notPerm},
		{"socket of the host", `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ["SOCKET"])' 2>&1`, missing},
		{"abstract socket of the host", `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect("\0" + os.environ["ABSTRACT"])' 2>&1`, `refused`},
		{"shared memory of the host", `ls -A /dev/shm /dev/mqueue 2>&1; ipcs -m | grep -c 0x`, `^.*` + missing + `(.|\n)*0\n$`},
		{"temporary files of the host", `ls -A /tmp /var/tmp`, `^/tmp:\n\n/var/tmp:\n$|^/tmp:\n\n/var/tmp\n$|^/var/tmp\n\n/tmp:\n$`},
		{"secrets in the environment", `env; cat /proc/*/environ 2>/dev/null | tr '\0' '\n' | grep -c PATH`, `PATH`},
	}
}

// hostile is a host with things that commands must not reach.
type hostile struct {
	*world
	secret, db, private string
	process             *exec.Cmd
	env                 map[string]string
}

func newHostile(t *testing.T) *hostile {
	t.Setenv("FAWN_ATTACK", "SECRET-environment")
	w := newWorld(t)
	outside := t.TempDir()
	h := &hostile{world: w,
		secret: filepath.Join(outside, "secret"), db: filepath.Join(w.cfg.Dirs.Root, "fawn.db"),
		private: filepath.Join(w.cfg.Dirs.Root, "threads", "victim", "user-data", "workspace", "private"),
	}
	for _, name := range []string{h.secret, h.db, h.private} {
		mustWrite(t, name, "SECRET-file")
	}
	serve := func(network, addr string) net.Listener {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(conn, "SECRET-service")
				conn.Close()
			}
		}()
		return l
	}
	port := serve("tcp", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	abstract := "fawn-attack-" + fmt.Sprint(os.Getpid())
	serve("unix", "@"+abstract)
	serve("unix", filepath.Join(outside, "socket"))
	h.process = exec.Command("sleep", "600")
	h.process.Env = []string{"CANARY=SECRET-process"}
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.process.Process.Kill()
		h.process.Wait()
	})
	waitFor(t, "a process that sleeps", func() bool { return strings.Contains(h.state(t), ") S ") })
	h.env = map[string]string{
		"DATA": w.cfg.Dirs.Root, "HOSTPID": fmt.Sprint(h.process.Process.Pid), "SERVERPID": fmt.Sprint(os.Getpid()),
		"PORT": fmt.Sprint(port), "SOCKET": filepath.Join(outside, "socket"), "ABSTRACT": abstract, "SECRET": h.secret,
	}
	return h
}

// state is how the process of the host is doing.
func (h *hostile) state(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// intact looks at what an attack could have changed.
func (h *hostile) intact(t *testing.T, thread string) {
	t.Helper()
	for _, name := range []string{h.secret, h.db, h.private} {
		if b, err := os.ReadFile(name); err != nil || string(b) != "SECRET-file" {
			t.Errorf("%s changed: %q, %v", name, b, err)
		}
	}
	if state := h.state(t); !strings.Contains(state, ") S ") {
		t.Errorf("the process of the host: %q", state)
	}
	root := filepath.Join(h.cfg.Dirs.Root, "threads", thread)
	err := filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice) != 0 {
			t.Errorf("%s is %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range []string{"/x", "/usr/x", "/usr/bin/x", "/opt/x", "/etc/x", "/run/x", "/var/x", "/mnt/x",
		"/home/x"} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s was made on the host", name)
		}
	}
	if name, err := os.Hostname(); err != nil || name == "evil" {
		t.Errorf("the host is %q, %v", name, err)
	}
}

func TestAttacksFromInside(t *testing.T) {
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		unavailable(t, "the attacks need /usr/bin/python3")
	}
	h := newHostile(t)
	s := h.thread("attacker")
	all := append(append(attacksOnFiles(), attacksOnPrivileges()...), attacksOnOthers()...)
	if len(all) < 90 {
		t.Errorf("%d attacks", len(all))
	}
	for _, a := range all {
		t.Run(a.name, func(t *testing.T) {
			// Numbers of system calls are those of amd64.
			if strings.Contains(a.command, "l.syscall(") && !isAMD64() {
				t.Skip("written for amd64")
			}
			res := do(t, s, sandbox.ExecReq{Command: "exec 2>&1; rm -rf ./* ; " + a.command, Env: h.env})
			out := string(res.Output)
			if strings.Contains(out, "SECRET-") {
				t.Errorf("a secret got out: %q", out)
			}
			if !regexp.MustCompile(a.want).MatchString(out) {
				t.Errorf("answer %q, exit %d, want %s", out, res.ExitCode, a.want)
			}
			if res.SandboxRestarted || res.TimedOut {
				t.Errorf("%+v", res)
			}
			h.intact(t, "attacker")
		})
	}
}

func TestOrdinaryProgramsStillWork(t *testing.T) {
	w := newWorld(t)
	s := w.thread("a")
	for name, c := range map[string]struct{ needs, command, want string }{
		"multiprocessing": {"python3", `python3 -c 'from multiprocessing import Pool, shared_memory; print(Pool(2).map(abs, [-1, -2])); shared_memory.SharedMemory(create=True, size=1000).unlink()'`, "[1, 2]\n"},
		"threads":         {"python3", `python3 -c 'from concurrent.futures import ThreadPoolExecutor as T; print(sum(T(8).map(int, range(100))))'`, "4950\n"},
		"database":        {"python3", `python3 -c 'import sqlite3; d = sqlite3.connect("x.db"); d.execute("pragma journal_mode=wal"); d.execute("create table t(a)"); d.execute("insert into t values(7)"); d.commit(); print(d.execute("select a from t").fetchone())'`, "(7,)\n"},
		"compiler":        {"gcc", `echo 'int main(){return 42;}' > a.c && gcc a.c -o a.out && ./a.out; echo $?`, "42\n"},
		"node":            {"node", `node -e 'require("child_process").exec("echo hi", (e, o) => process.stdout.write(o))'`, "hi\n"},
		"git":             {"git", `git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --format=%s`, "first\n"},
		"archive":         {"tar", `mkdir d && echo x > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f`, "x\n"},
		"terminals":       {"python3", `python3 -c 'import pty; pty.spawn(["echo", "tty"])'`, "tty\r\n"},
		"locks":           {"flock", `flock x echo locked`, "locked\n"},
		"pipes":           {"mkfifo", `mkfifo f; echo through > f & cat f`, "through\n"},
		"time zone":       {"date", `date +%Z | grep -c .`, "1\n"},
		"temporary":       {"mktemp", `f=$(mktemp) && echo ${f%.*}`, "/tmp/tmp\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := exec.LookPath("/usr/bin/" + c.needs); err != nil {
				t.Skipf("%s: %v", p, err)
			}
			if res := bash(t, s, c.command); string(res.Output) != c.want {
				t.Errorf("%q, exit %d", res.Output, res.ExitCode)
			}
		})
	}
}
