package providers_test

import (
	"os/exec"
	"testing"

	"fawn/sandbox"
)

// eachSandbox runs a test with namespaces and with Landlock.
func eachSandbox(t *testing.T, test func(t *testing.T, open func(testing.TB, ...func(*sandbox.Config)) *world)) {
	t.Helper()
	t.Run("namespace", func(t *testing.T) { test(t, newWorld) })
	t.Run("landlock", func(t *testing.T) { test(t, newPlainWorld) })
}

func TestOrdinaryProgramsStillWork(t *testing.T) {
	eachSandbox(t, func(t *testing.T, open func(testing.TB, ...func(*sandbox.Config)) *world) {
		s := open(t).thread("a")
		for name, c := range map[string]struct{ needs, command, want string }{
			"threads":   {"python3", `python3 -c 'from concurrent.futures import ThreadPoolExecutor as T; print(sum(T(8).map(int, range(100))))'`, "4950\n"},
			"database":  {"python3", `python3 -c 'import sqlite3; d = sqlite3.connect("x.db"); d.execute("pragma journal_mode=wal"); d.execute("create table t(a)"); d.execute("insert into t values(7)"); d.commit(); print(d.execute("select a from t").fetchone())'`, "(7,)\n"},
			"events":    {"python3", `python3 -c 'import asyncio; print(asyncio.run(asyncio.wait_for(asyncio.sleep(0, 5), 60)))'`, "5\n"},
			"pairs":     {"python3", `python3 -c 'import socket; a, b = socket.socketpair(); a.send(b"hi"); print(b.recv(2))'`, "b'hi'\n"},
			"compiler":  {"gcc", `echo 'int main(){return 42;}' > a.c && gcc a.c -o a.out && ./a.out; echo $?`, "42\n"},
			"node":      {"node", `node -e 'require("child_process").exec("echo hi", (e, o) => process.stdout.write(o))'`, "hi\n"},
			"git":       {"git", `git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git log --format=%s`, "first\n"},
			"archive":   {"tar", `mkdir d && echo x > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f`, "x\n"},
			"modes":     {"chmod", `echo 'echo ran' > r.sh && chmod 755 r.sh && ./r.sh`, "ran\n"},
			"locks":     {"flock", `flock x echo locked`, "locked\n"},
			"pipes":     {"mkfifo", `mkfifo f; echo through > f & cat f`, "through\n"},
			"move":      {"mv", `echo m > m && mv m /mnt/user-data/outputs/m && cat /mnt/user-data/outputs/m && mv /mnt/user-data/outputs/m /tmp/m && cat /tmp/m`, "m\nm\n"},
			"temporary": {"mktemp", `f=$(mktemp) && echo ${f%.*}`, "/tmp/tmp\n"},

			// These need what Landlock keeps from commands.
			"multiprocessing": {"python3", `python3 -c 'from multiprocessing import Pool, shared_memory; print(Pool(2).map(abs, [-1, -2])); shared_memory.SharedMemory(create=True, size=1000).unlink()'`, "[1, 2]\n"},
			"terminals":       {"python3", `python3 -c 'import pty; pty.spawn(["echo", "tty"])'`, "tty\r\n"},
			"time zone":       {"date", `date +%Z | grep -c .`, "1\n"},
		} {
			t.Run(name, func(t *testing.T) {
				if p, err := exec.LookPath("/usr/bin/" + c.needs); err != nil {
					t.Skipf("%s: %v", p, err)
				}
				if s.ID() == "landlock:a" && (name == "multiprocessing" || name == "terminals") {
					t.Skip("no shared memory and no terminals with Landlock")
				}
				if res := bash(t, s, c.command); string(res.Output) != c.want {
					t.Errorf("%q, exit %d", res.Output, res.ExitCode)
				}
			})
		}
	})
}
