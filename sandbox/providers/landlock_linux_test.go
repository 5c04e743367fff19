package providers_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/web/e2e/gate"
)

const noFamily = `Address family not supported`

// plainAttacks are tried where there are no namespaces. "/tm""p" is the folder
// of the host, which is not translated.
func plainAttacks() []attack {
	return []attack{
		{"secret of the host", `cat "$SECRET"`, denied},
		{"folder of the secret", `ls "$OUTSIDE"`, denied},
		{"database", `cat "$DATA/fawn.db"`, denied},
		{"data folder", `ls "$DATA" "$DATA/threads" "$DATA/run"`, `(` + denied + `(.|\n)*){3}`},
		{"another thread", `cat "$DATA/threads/victim/user-data/workspace/private"`, denied},
		{"another thread from here", `cat ../../../victim/user-data/workspace/private`, denied},
		{"write to another thread", `echo x > ../../../victim/user-data/workspace/new; echo x >> ../../../victim/user-data/workspace/private`, `(` + denied + `(.|\n)*){2}`},
		{"own thread outside of its folders", `ls ../..; touch ../../x ../x; mkdir ../y`, `(` + denied + `(.|\n)*){4}`},
		{"homes", `ls /root /home; cat /root/.bashrc /root/.ssh/*`, denied},
		{"accounts and keys", `cat /etc/shadow /etc/gshadow /etc/sudoers; ls /etc/ssh /etc/ssl/private`, denied},
		{"run, var, boot, sys", `for d in /run /var /boot /sys /srv /media /var/log /sys/fs/cgroup; do [ -e $d ] && ls $d; done`, denied},
		{"temporary folders of the host", `ls "/tm""p" /var/tmp /dev/shm; touch "/tm""p/plain-x" /var/tmp/plain-x /dev/shm/plain-x`, `(` + denied + `(.|\n)*){6}`},
		{"root of the file system", `ls /; touch /plain-x`, `(` + denied + `(.|\n)*){2}`},
		{"write to the system", `touch /usr/plain-x /etc/plain-x /opt/plain-x /dev/plain-x; echo x >> /etc/passwd`, `(` + denied + `(.|\n)*){5}`},
		{"an open file of the host", `echo x >> "$OPEN"; truncate -s 0 "$OPEN"; : > "$OPEN"; rm -f "$OPEN"; mv "$OPEN" x`, `(` + denied + `(.|\n)*){4}`},
		{"an open folder of the host", `touch "$OUTSIDE/new"; mkdir "$OUTSIDE/dir"; ln -s x "$OUTSIDE/link"; mkfifo "$OUTSIDE/pipe"`, `(` + denied + `(.|\n)*){4}`},
		{"link to a secret", `ln -s "$SECRET" link; cat link; ln -s "$OUTSIDE" dir; ls dir/; cp -rL dir copy`, `(` + denied + `(.|\n)*){3}`},
		{"hard link to a secret", `ln "$SECRET" hard || ln "$OPEN" hard; cat hard`, `(cross-device|` + denied + `|` + notPerm + `)(.|\n)*` + missing},
		{"hard link to a program", `ln /usr/bin/env hard`, `cross-device|` + denied + `|` + notPerm},
		{"move a folder of the thread", `mv ../outputs ../x; rmdir ../uploads; rm -rf ../workspace`, denied},
		{"own program", `cat "$DATA"/run/sbxinit-*; for f in "$DATA"/run/sbxinit-*; do cp /bin/true "$f"; done; cat /proc/$PPID/exe`, denied},
		{"process 1", `cat /proc/1/environ /proc/1/maps; ls /proc/1/root/ /proc/1/fd/ /proc/1/cwd/`, denied},
		{"environment of a process of the host", `cat /proc/$HOSTPID/environ; cat /proc/$HOSTPID/mem; cat /proc/$HOSTPID/fd/0; ls /proc/$HOSTPID/root/ /proc/$HOSTPID/cwd/`, `(` + denied + `(.|\n)*){5}`},
		{"environment of any process", `cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2>/dev/null | tr '\0' '\n' | grep -c "^PLAIN_CANARY="`, `^0\n$`},
		{"files of the server", `cat /proc/$SERVERPID/fd/0; ls /proc/$SERVERPID/cwd/; cat /proc/$SERVERPID/environ /proc/$SERVERPID/maps`, `(` + denied + `(.|\n)*){4}`},
		{"memory of the parent", `cat /proc/$PPID/mem /proc/$PPID/environ; ls /proc/$PPID/fd`, denied},
		{"kernel", `cat /proc/kcore /dev/mem /dev/kmsg /dev/port; dmesg; echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger`, denied},
		{"disks and terminals", `for d in vda sda nvme0n1 loop0 tty console ptmx fuse kvm vsock net/tun; do cat /dev/$d; done`, denied},
		{"make a device", `mknod disk b 254 0; mknod mem c 1 1; ls disk mem`, `(` + denied + `|` + notPerm + `)(.|\n)*` + missing},
		{"setuid file", `touch s; chmod u+s s; chmod 4755 s; chmod g+s s; stat -c '%a' s`, notPerm + `(.|\n)*644\n$`},
		{"score of a process of the host", `echo 1000 > /proc/$HOSTPID/oom_score_adj; echo 1000 > /proc/$SERVERPID/oom_score_adj`, `(` + denied + `(.|\n)*){2}`},

		{"become root", `python3 -c 'import os; os.setuid(0)' 2>&1; python3 -c 'import os; os.setgroups([0])' 2>&1; su -c id 2>&1; sudo -n id; id -u`, notPerm + `(.|\n)*[1-9][0-9]*\n$`},
		{"regain capabilities", `grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | cut -f2 | sort -u; grep NoNewPrivs /proc/self/status`, `^0000000000000000\nNoNewPrivs:\t1\n$`},
		{"namespaces", `unshare -U true; unshare -m true; unshare -n true; nsenter -t $$ -U true; ` + call(`56, 0x10000011, 0, 0, 0, 0`) + "; " + call(`435, ctypes.create_string_buffer(88), 88`), `-1 ` + notPerm + `\n-1 Function not implemented`},
		{"mounts and roots", strings.Join([]string{call(`165, b"x", b".", b"tmpfs", 0, 0`), call(`428, -100, b"/", 0`), call(`161, b"."`), call(`155, b".", b"."`)}, "; "), `^(-1 ` + notPerm + `\n){4}$`},
		{"trace", call(`101, 16, "PID", 0, 0`) + "; " + call(`310, 1, 0, 0, 0, 0, 0`) + "; " + call(`438, 3, 0, 0`), `^(-1 ` + notPerm + `\n){3}$`},
		{"kernel programs, keys, rings", strings.Join([]string{call(`321, 0, 0, 0`), call(`298, ctypes.create_string_buffer(128), 0, -1, -1, 0`), call(`323, 0`), call(`425, 8, ctypes.create_string_buffer(120)`), call(`250, 0, -3, 1`)}, "; "), `^(-1 ` + notPerm + `\n){5}$`},
		{"handles of files", call(`303, -100, b"/", ctypes.create_string_buffer(200), ctypes.byref(ctypes.c_int()), 0`), `^-1 ` + notPerm},
		{"take off the filter", `grep Seccomp: /proc/self/status; python3 -c 'import ctypes; l = ctypes.CDLL(None); print(l.prctl(22, 0))'`, `^Seccomp:\t2\n-1\n$`},

		{"kill a process of the host", `kill -9 "$HOSTPID"`, notPerm},
		{"kill the server", `kill -0 "$SERVERPID"; kill -STOP "$SERVERPID"; kill -9 "$SERVERPID"`, `(` + notPerm + `(.|\n)*){3}`},
		{"limits of the server", call(`302, SERVERPID, 7, (ctypes.c_ulong * 2)(10, 10), 0`) + "; " + call(`302, HOSTPID, 0, (ctypes.c_ulong * 2)(1, 1), 0`), `^(-1 ` + notPerm + `\n){2}$`},
		{"priority of the server", strings.Join([]string{call(`141, 0, SERVERPID, 19`), call(`141, 2, 0, 19`), call(`251, 1, SERVERPID, 0x6000`), call(`251, 3, 0, 0x6000`), call(`142, SERVERPID, ctypes.create_string_buffer(8)`)}, "; "), `^(-1 ` + notPerm + `\n){5}$`},
		{"raise limits", `ulimit -Hu unlimited; ulimit -Hn 100000; ulimit -Hc unlimited; ulimit -Hf unlimited; nice -n -10 true`, `(cannot modify limit.*\n.*){4}`},

		{"port of the host", `: <>/dev/tcp/127.0.0.1/$PORT; : <>/dev/tcp/::1/$PORT`, `(` + noFamily + `(.|\n)*){2}`},
		{"datagrams", `echo x > /dev/udp/127.0.0.1/$PORT; ` + socket("socket.AF_INET6, socket.SOCK_DGRAM"), `(` + noFamily + `(.|\n)*){2}`},
		{"other families", strings.Join([]string{socket("socket.AF_INET, socket.SOCK_RAW, 1"), socket("socket.AF_PACKET, socket.SOCK_RAW, 3"), socket("socket.AF_NETLINK, socket.SOCK_RAW, 0"), socket("40, socket.SOCK_STREAM"), socket("38, socket.SOCK_SEQPACKET"), socket("socket.AF_BLUETOOTH, socket.SOCK_RAW, 1")}, "; "), `^((.|\n)*` + noFamily + `){6}`},
		{"socket of the host", `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ["SOCKET"])' 2>&1`, notPerm},
		{"socket of the host without a path", `python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect("\0" + os.environ["ABSTRACT"])' 2>&1`, notPerm},
		{"datagram to a socket of the host", socket("socket.AF_UNIX, socket.SOCK_DGRAM") + `; python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)' 2>&1; ` + socket("socket.AF_UNIX, 3"), `(` + notPerm + `(.|\n)*){3}`},
		{"memory and messages of the host", strings.Join([]string{call(`29, 0, 4096, 0o1600`), call(`30, 0, 0, 0`), call(`68, 1, 0o1600`), call(`64, 1, 1, 0o1600`), call(`240, b"x", 0o102, 0o600, 0`)}, "; "), `^(-1 ` + notPerm + `\n){5}$`},
		{"left descriptors", `for i in $(seq 3 300); do [ -e /proc/$$/fd/$i ] && echo $i; done; echo end`, `^(255\n)?end\n$`},
	}
}

// untranslated takes off what kept paths of the host from being translated.
const untranslated = `for v in SECRET OPEN OUTSIDE DATA SOCKET; do printf -v $v %s "${!v#X}"; done; `

// plainHost is what the attacks are aimed at.
type plainHost struct {
	*world
	env     map[string]string
	outside string
	process *exec.Cmd
}

func newPlainHost(t *testing.T) *plainHost {
	t.Helper()
	w := newPlainWorld(t)
	h := &plainHost{world: w, outside: openDir(t)}
	data := w.cfg.Dirs.Root
	mustWrite(t, filepath.Join(h.outside, "secret"), "SECRET-outside")
	mustWrite(t, filepath.Join(h.outside, "open"), "open to all")
	mustWrite(t, filepath.Join(data, "fawn.db"), "SECRET-database")
	bash(t, w.thread("victim"),
		"echo SECRET-thread > private; chmod -R 777 .; chmod 777 .. ../../user-data 2>/dev/null")
	for name, mode := range map[string]os.FileMode{h.outside: 0o777, filepath.Join(h.outside, "open"): 0o666,
		data: 0o755, filepath.Join(data, "threads"): 0o755, filepath.Join(data, "threads/victim"): 0o755} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	// Links of the host are followed nowhere, and its sockets are open to all.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	name := mark()
	path := filepath.Join(h.outside, "s")
	for _, at := range []string{path, "@plain-" + name} {
		u, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { u.Close() })
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	h.process = exec.Command("sleep", "1000")
	h.process.Env = []string{"PLAIN_CANARY=SECRET-environment"}
	if err := h.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.process.Process.Kill()
		h.process.Wait()
	})
	h.env = map[string]string{
		"SECRET": "X" + filepath.Join(h.outside, "secret"), "OPEN": "X" + filepath.Join(h.outside, "open"),
		"OUTSIDE": "X" + h.outside, "DATA": "X" + data, "SOCKET": "X" + path, "ABSTRACT": "plain-" + name,
		"PORT": strconv.Itoa(l.Addr().(*net.TCPAddr).Port), "HOSTPID": strconv.Itoa(h.process.Process.Pid),
		"SERVERPID": strconv.Itoa(os.Getpid()),
	}
	return h
}

// intact fails if an attack changed anything outside.
func (h *plainHost) intact(t *testing.T) {
	t.Helper()
	data := h.cfg.Dirs.Root
	for name, want := range map[string]string{
		filepath.Join(h.outside, "secret"): "SECRET-outside", filepath.Join(h.outside, "open"): "open to all",
		filepath.Join(data, "fawn.db"):                                    "SECRET-database",
		filepath.Join(data, "threads/victim/user-data/workspace/private"): "SECRET-thread\n",
	} {
		if b, err := os.ReadFile(name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for dir, want := range map[string][]string{
		h.outside: {"open", "s", "secret"}, filepath.Join(data, "threads/attacker"): {"sandbox", "user-data"},
		filepath.Join(data, "threads/attacker/user-data"):         {"outputs", "uploads", "workspace"},
		filepath.Join(data, "threads/victim/user-data/workspace"): {"private"},
	} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s holds %v", dir, names)
		}
	}
	for _, pattern := range []string{"/plain-*", "/tmp/plain-x", "/var/tmp/plain-x", "/dev/shm/plain-x", "/usr/plain-x",
		"/etc/plain-x", "/opt/plain-x", "/dev/plain-x"} {
		if names, err := filepath.Glob(pattern); err != nil || len(names) > 0 {
			t.Errorf("made: %v, %v", names, err)
		}
	}
	if err := h.process.Process.Signal(syscall.Signal(0)); err != nil {
		t.Fatalf("the process of the host: %v", err)
	}
	pid := h.process.Process.Pid
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &limit); err != nil || limit.Cur == 1 {
		t.Errorf("limits of the process of the host: %+v, %v", limit, err)
	}
	if n, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid()); err != nil || n < 1 {
		t.Errorf("priority of the server: %d, %v", n, err)
	}
}

func TestPlainAttacksFromInside(t *testing.T) {
	gate.In(t, gate.Attack, "make test attacks sandboxes with namespaces")
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		unavailable(t, "the attacks need /usr/bin/python3")
	}
	h := newPlainHost(t)
	s := h.thread("attacker")
	for _, a := range plainAttacks() {
		t.Run(a.name, func(t *testing.T) {
			// Numbers of system calls are those of amd64.
			if strings.Contains(a.command, "l.syscall(") && !isAMD64() {
				t.Skip("written for amd64")
			}
			command := strings.NewReplacer("SERVERPID,", h.env["SERVERPID"]+",", "HOSTPID,", h.env["HOSTPID"]+",",
				`"PID"`, h.env["HOSTPID"]).Replace(a.command)
			res := do(t, s, sandbox.ExecReq{Command: untranslated + "exec 2>&1; rm -rf ./* ; " + command, Env: h.env})
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
			h.intact(t)
		})
	}
}

func TestPlainThreadsHaveUsersOfTheirOwn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give commands a user of their own")
	}
	w := newPlainWorld(t)
	ids := map[string]bool{}
	for _, id := range []string{"a", "b", "c"} {
		s := w.thread(id)
		res := bash(t, s, `echo $UID; id -G | wc -w; touch x; stat -c %u x; for v in $(grep -E 'Cap(Prm|Eff|Bnd|Amb|Inh)' /proc/self/status | cut -f2 | sort -u); do echo $v; done`)
		var uid, owner, groups int
		var caps string
		if n, err := fmt.Sscan(string(res.Output), &uid, &groups, &owner, &caps); n != 4 || err != nil ||
			uid < w.cfg.UIDBase || owner != uid || groups != 2 || strings.Trim(caps, "0") != "" {
			t.Errorf("%q, %v", res.Output, err)
		}
		ids[strconv.Itoa(uid)] = true
		if st := s.Status(); !slices.Contains(st.Layers, "own_uid") {
			t.Errorf("%+v", st)
		}
		// What the server writes belongs to the same user.
		files, err := w.cfg.Dirs.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.WriteFile(t.Context(), "y", []byte("from the server"), false); err != nil {
			t.Error(err)
		}
		files.Close()
		if res := bash(t, s, "cat y; echo more >> y; rm y"); string(res.Output) != "from the server" ||
			res.ExitCode != 0 {
			t.Errorf("%+v", res)
		}
	}
	if len(ids) != 3 {
		t.Errorf("users %v", ids)
	}
	// Nobody else was let in: the way is open to one group that only they have.
	for _, dir := range []string{"", "threads", "threads/a", "threads/a/sandbox"} {
		info, err := os.Stat(filepath.Join(w.cfg.Dirs.Root, dir))
		if err != nil || info.Mode().Perm() != 0o710 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}
