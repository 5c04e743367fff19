package attack_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onOthers are attacks on processes and on other threads.
func onOthers() []attack {
	return []attack{
		{name: "kill processes of the host", shell: `kill -9 $HOSTPID $SERVERPID; kill -STOP $HOSTPID; python3 -c 'import os, signal; os.pidfd_open(int(os.environ["HOSTPID"]))' 2>&1 | tail -1; ls /proc/$HOSTPID /proc/$SERVERPID`, want: `(No such process(.|\n)*){3}` + missing},
		{name: "kill everything", shell: `kill -9 -1; sleep 60`, uses: []use{tool("bash", "command", "echo next")}, want: `The sandbox was restarted \((.|\n)*\nnext$`},
		{name: "see processes of others", shell: `ps ax -o args= | grep -v -E '(attack.sh|ps ax|grep -v|sandbox)'; cat /proc/[0-9]*/cmdline | tr '\0' ' ' | grep -c -E '[s]leep 3600|[s]erve.py'`, want: `^0`},
		{name: "read environments", shell: `env; set; for e in /proc/[0-9]*/environ; do tr '\0' '\n' < $e; done | sort -u; echo $FAWN_ATTACK_KEY.`, want: `\.$`},
		{name: "process 1 under signals", shell: `for s in $(seq 1 64); do kill -$s 1; done; for i in $(seq 300); do kill -CHLD 1; kill -URG 1; kill -QUIT 1; done; sleep 0.1; echo alive`, uses: []use{tool("bash", "command", "echo next")}, want: `alive\nnext$`},
		{name: "files and memory of another thread",
			shell: `ls -A /tmp /dev/shm /home/agent; cat /tmp/private; ` + python(`
import ctypes
l = ctypes.CDLL(None)
print("segment", l.shmget(0x5eed, 4096, 0o666))`) + `ipcs -m | grep -c 0x`, want: missing + `(.|\n)*segment -1\n0`},
		{name: "sockets of another thread", shell: python(`
import socket
for family, at in ((socket.AF_UNIX, "\0fawn-victim"), (socket.AF_INET, ("127.0.0.1", 4999))):
    s = socket.socket(family)
    try: s.connect(at); print("reached", s.recv(100))
    except OSError as e: print(e.strerror)`), want: `^Connection refused\nConnection refused$`},
		{name: "be another thread's service",
			shell: `mkdir /tmp/x; python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 4998)); s.listen(); s.accept()' & until : <>/dev/tcp/127.0.0.1/4998; do sleep 0.02; done 2>/dev/null; (trap "" HUP TERM; exec setsid python3 -c 'import socket, time; s = socket.socket(); s.bind(("0.0.0.0", 4997)); s.listen(); time.sleep(600)' >/dev/null 2>&1 &) ; echo up`,
			want:  `up\n\(\d process`,
			host: func(t *testing.T, w *world, _ string) []string {
				told := w.chat(t, "victim", []use{tool("bash", "command",
					`python3 -c 'import socket; socket.create_connection(("127.0.0.1", 4997)); print("reached")' 2>&1; ls /tmp/x 2>&1`)})[0]
				if !strings.Contains(told, "refused") || !strings.Contains(told, missing) {
					return []string{"another thread is told " + told}
				}
				if c, err := net.Dial("tcp", "127.0.0.1:4997"); err == nil {
					c.Close()
					return []string{"it listens on the host"}
				}
				return nil
			}},
		{name: "hide a daemon from the time limit",
			shell: `(setsid bash -c 'trap "" TERM HUP INT; exec -a $MARK-daemon sleep 3600' >/dev/null 2>&1 </dev/null &); echo hidden`, want: `hidden`,
			host: func(t *testing.T, w *world, thread string) []string {
				if status, body := w.send(t, "DELETE", "/api/threads/"+thread, "", ""); status >= 300 {
					return []string{body}
				}
				return w.left(thread)
			}},
		{name: "stop those who watch", shell: `(sleep 0.2; kill -STOP -1) & kill -STOP $PPID; sleep 0.5; kill -9 $PPID; sleep 60`, uses: []use{tool("bash", "command", "echo next")}, want: `The sandbox was restarted \((.|\n)*\nnext$`},
		{name: "owner of what is made", shell: `touch a ~/b /mnt/user-data/outputs/c; echo made`, want: `made`,
			host: func(t *testing.T, w *world, thread string) []string {
				var users []uint32
				for _, name := range []string{thread + "/user-data/outputs/c", "victim/user-data/workspace"} {
					info, err := os.Stat(filepath.Join(w.data, "threads", name))
					if err != nil {
						return []string{err.Error()}
					}
					users = append(users, info.Sys().(*syscall.Stat_t).Uid)
				}
				if os.Getuid() == 0 && (users[0] == users[1] || users[0] == 0) {
					return []string{fmt.Sprintf("threads share a user of the host: %d", users)}
				}
				return nil
			}},
		{name: "write where the server reads",
			shell: `for n in .tool-results ../.tool-results; do ln -s "$OUTSIDE" $n; ln -s "$OUTSIDE" /mnt/user-data/outputs/$n; done; ln -s "$DATA/secrets.env" /mnt/user-data/uploads/x.md; head -c 60000 /dev/urandom | base64`,
			uses:  []use{tool("read_file", "path", "/mnt/user-data/uploads/x.md")}, want: `Error: `},
	}
}

// onNeighbours are attacks on processes of the host that need no more than their number.
func onNeighbours() []attack {
	return []attack{
		{name: "choose processors for others", shell: python(`
import os
for name in ("HOSTPID", "SERVERPID"):
    try: os.sched_setaffinity(int(os.environ[name]), {0}); print("moved")
    except OSError as e: print(e.strerror)`), want: `^(No such process\n?){2}`},
		{name: "schedule others", shell: python(`
import os
pid = int(os.environ["HOSTPID"])
for f in (lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)), lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)):
    try: f(); print("changed")
    except OSError as e: print(e.strerror)`), want: `^(No such process\n?){2}`},
		{name: "limits of others", shell: python(`
import os, resource
for name in ("HOSTPID", "SERVERPID"):
    try: resource.prlimit(int(os.environ[name]), resource.RLIMIT_CORE, (0, 0)); print("CANARY" "-limited")
    except OSError as e: print(e.strerror)`), want: `^(No such process\n?){2}`},
		{name: "numbers of the server's files", shell: `[ "$(ls /proc/$SERVERPID/fd 2>/dev/null | wc -l)" = 0 ] || printf 'CANARY%s\n' -descriptors; ls /proc/$SERVERPID/fd`, want: missing},
	}
}

// left lists processes of a thread's sandbox that live on; ends take a moment.
func (w *world) left(thread string) (damage []string) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		n := 0
		infos, err := filepath.Glob("/proc/[0-9]*/mountinfo")
		if err != nil {
			return []string{err.Error()}
		}
		for _, name := range infos {
			if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "/threads/"+thread+"/") {
				n++
			}
		}
		if n == 0 {
			return nil
		}
		if time.Now().After(end) {
			return []string{fmt.Sprintf("%d processes of the thread live on", n)}
		}
	}
}

// nothingNew looks for processes that got away into namespaces of their own.
func nothingNew(t *testing.T, w *world, thread string) []string {
	if status, body := w.send(t, "DELETE", "/api/threads/"+thread, "", ""); status >= 300 {
		return []string{body}
	}
	return w.left(thread)
}

// ask sends requests to the proxy and prints the first line of each answer.
func ask(requests ...string) string {
	text := "import socket\nfor r in (\n"
	for _, r := range requests {
		text += "    " + fmt.Sprintf("%q", r) + ",\n"
	}
	return python(text + `):
    import os
    r = r.replace("PORT", os.environ["PORT"]).replace("SERVER", os.environ["SERVER"])
    s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(30)
    s.sendall(r.encode("latin-1")); print(s.makefile("rb").readline().decode("latin-1").strip() or "closed")`)
}

// onNetwork are attacks through and around the proxy.
func onNetwork() []attack {
	return []attack{
		{name: "ports of the host", shell: `for p in $PORT $SERVER 22 2375 6443; do for a in 127.0.0.1 0.0.0.0 ::1 ::ffff:127.0.0.1 169.254.169.254 10.0.0.1 192.168.0.1; do (echo "GET / HTTP/1.0"; echo) 2>/dev/null > /dev/tcp/$a/$p && echo reached $a $p; done; done 2>/dev/null; echo tried`, want: `^tried\b`, always: true},
		{name: "sockets of the host", shell: python(`
import os, socket
for at in ("\0" + os.environ["ABSTRACT"], os.environ["OUTSIDE"] + "/s", "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"):
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(at); print("reached", s.recv(100))
    except OSError as e: print(e.strerror)`), want: `^Connection refused\n(` + missing + `\n?){5}$`},
		{name: "families of sockets", shell: python(`
import socket
for f, k, p in ((17, 3, 3), (40, 1, 0), (38, 5, 0), (31, 3, 1), (29, 3, 1), (15, 3, 2), (44, 3, 0), (16, 3, 9), (16, 3, 16), (16, 3, 15), (2, 3, 1), (2, 3, 255), (10, 3, 58), (30, 1, 0), (21, 5, 0), (2, 1, 132), (39, 2, 0)):
    try: socket.socket(f, k, p); print("made", f, k, p)
    except OSError as e: print("refused")`), want: `^(refused\n?){17}`, always: true},
		{name: "datagrams and names",
			shell: `echo x > /dev/udp/8.8.8.8/53; echo x > /dev/udp/1.1.1.1/443; getent hosts example.com; echo $?; ` + python(`
import socket
try: print(socket.getaddrinfo("metadata.google.internal", 80))
except OSError as e: print("no name")`), want: `(unreachable(.|\n)*){2}2\nno name$`},
		{name: "change the network",
			shell: `ip link add x type dummy; ip addr add 10.0.0.1/8 dev lo; ip route add default dev lo; iptables -L; echo 1 > /proc/sys/net/ipv4/ip_forward; ` + python(`
import fcntl, socket
for request in (0x8914, 0x8916, 0x890b, 0x89a0):
    try: fcntl.ioctl(socket.socket(), request, b"lo" + b"\0" * 62); print("done")
    except OSError as e: print(e.strerror)`), want: `(` + notPerm + `\n?)+$`},
		{name: "the server through the proxy", shell: ask(
			"GET http://127.0.0.1:SERVER/api/threads HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			"GET http://localhost:PORT/ HTTP/1.0\r\n\r\n", "CONNECT 127.0.0.1:SERVER HTTP/1.1\r\n\r\n",
			"CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "CONNECT localhost:443 HTTP/1.1\r\n\r\n",
			"GET /api/threads HTTP/1.1\r\nHost: 127.0.0.1:SERVER\r\n\r\n"), want: `^(HTTP/1\.1 40[03].*\n?){6}$`},
		{name: "private addresses through the proxy", shell: ask(
			"GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://[fd00:ec2::254]/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://[::ffff:127.0.0.1]/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://metadata.google.internal/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"CONNECT 192.168.1.1:443 HTTP/1.1\r\n\r\n", "CONNECT [64:ff9b::7f00:1]:443 HTTP/1.1\r\n\r\n"),
			want: `^(HTTP/1\.1 40[03].*\n?){7}$`},
		{name: "odd spellings of loopback", shell: ask(
			"GET http://2130706433/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://0x7f.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://0177.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://127.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://0/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://LOCALHOST./ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://127.0.0.1%2f@example.com/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://a.localhost/ HTTP/1.1\r\nHost: x\r\n\r\n"), want: `^(HTTP/1\.1 (40[03]|502).*\n?){8}$`},
		{name: "requests inside requests", shell: ask(
			"GET http://127.0.0.1:PORT/\x00.example HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://u:p@127.0.0.1:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n",
			"GET http://x\r\nHost: 127.0.0.1:PORT\r\n\r\n",
			"POST http://a.invalid/ HTTP/1.1\r\nHost: a.invalid\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nGET http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n",
			"TRACE http://127.0.0.1:PORT/ HTTP/1.1\r\n\r\n", "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50"),
			want: `^((HTTP/1\.[01] (4\d\d|501|502).*|closed|.{0,40})\n?){6}$`},
		{name: "hosts that nobody allowed", shell: `curl -sS -m 20 http://unlisted.example/ ; curl -sS -m 20 https://unlisted.example/ ; curl -sS -m 20 --noproxy '*' http://93.184.216.34/; ` + ask("GET http://unlisted.example/ HTTP/1.1\r\nHost: unlisted.example\r\n\r\n"), want: `HTTP/1\.1 403 blocked by sandbox network policy: unlisted\.example`},
	}
}
