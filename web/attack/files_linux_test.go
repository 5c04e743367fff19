package attack_test

import (
	"os"
	"path/filepath"
	"testing"
)

// What the system says when it refuses.
const (
	missing  = `No such file or directory`
	denied   = `Permission denied`
	notPerm  = `Operation not permitted`
	readOnly = `Read-only file system`
)

// call makes a system call and prints its answer.
func call(args string) string {
	return `python3 -c 'import ctypes, os; l = ctypes.CDLL(None, use_errno=True); r = l.syscall(` + args +
		`); print(r, os.strerror(ctypes.get_errno()))'` + "\n"
}

// onFiles are attacks on files of the host from a script.
func onFiles() []attack {
	return []attack{
		{name: "read a secret by its path", shell: `cat "$SECRET"; ls "$OUTSIDE"`, want: missing},
		{name: "read a secret through every root", shell: `for r in self 1 $$ $PPID thread-self; do cat "/proc/$r/root$SECRET" "/proc/$r/cwd/../../../..$SECRET"; done`, want: missing},
		{name: "search everything for secrets", shell: `grep -rIl "CANARY[-]" /etc /home /mnt /opt /root /run /srv /tmp /var /dev /.sbx / --exclude-dir=proc --exclude-dir=usr --exclude-dir=dev --exclude-dir=lib 2>/dev/null; echo searched $?`, want: `^searched [12]$`},
		{name: "read the database", shell: `head -c 100 "$DATA/fawn.db" "$DATA/fawn.db-wal"; sqlite3 "$DATA/fawn.db" .dump`, want: missing},
		{name: "read settings and keys", shell: `cat "$DATA/secrets.env" "$DATA/settings.yaml" "$DATA/../config.yaml" "$DATA/lock"`, want: missing},
		{name: "read another thread", shell: `cat "$DATA/threads/victim/user-data/workspace/private"; ls "$DATA/threads"; cd /mnt/user-data/workspace; cat ../../../victim/user-data/workspace/private ../../victim/*/private`, want: missing},
		{name: "read the home of another thread", shell: `cat ~/private /tmp/private /dev/shm/private ~/../private; ls /home`, want: missing + `(.|\n)*\nagent`},
		{name: "open the sources of the mounts", shell: `awk '{print $4, $5}' /proc/self/mountinfo | while read -r from to; do case "$from" in *fawn*|*threads*|*Attack*) ls -d "$from/../.." "$from/../../../secrets.env" 2>&1 | grep -v "No such file"; ls "/proc/self/root$from" 2>&1 | grep -v "No such file"; esac; done; echo looked`, want: `^looked$`},
		{name: "climb out of a moved folder", shell: `mkdir -p a/b && cd a/b && python3 - <<'END'
import os
fd = os.open(".", os.O_RDONLY)
for to in ("/mnt/user-data/outputs/a", "/home/agent/a", "/tmp/a"):
    try: os.rename("/mnt/user-data/workspace/a", to); print("moved")
    except OSError as e: print(e.strerror)
for n in range(12):
    try: print(os.listdir(fd) and "" or "", end=""); fd = os.open("..", os.O_RDONLY, dir_fd=fd)
    except OSError as e: print(e.strerror)
print(sorted(n for n in os.listdir(fd) if n in ("mnt", "root", "boot")))
END`, want: `(Invalid cross-device link\n){3}(.|\n)*\['mnt'\]`},
		{name: "use descriptors that were left open", shell: `for d in /proc/self/fd /proc/$PPID/fd /proc/1/fd; do for f in $d/*; do readlink $f; done; done | grep -v -E '^(/dev/null|pipe:|/proc/|anon_inode|/mnt/user-data|/dev/pts)' | sort -u; echo listed`, want: `^listed$`},
		{name: "read accounts and keys of the system", shell: `cat /etc/shadow /etc/gshadow /etc/sudoers; ls -A /root; ls -A /boot; ls -A /etc/ssl/private/`, want: `((` + missing + `|` + denied + `)(.|\n)*){6}`, always: true},
		{name: "write into system folders", shell: `for d in / /usr /usr/bin /usr/local/bin /bin /lib /opt /etc /etc/cron.d /run /var /home /mnt /mnt/user-data/.. /proc/sys /dev /.sbx; do echo x > $d/$MARK; done; touch "$OUTSIDE/$MARK" "$DATA/$MARK"`, want: `(` + readOnly + `(.|\n)*){8}` + missing},
		{name: "change accounts and start-up files", shell: `echo "x::0:0::/:/bin/sh" >> /etc/passwd; echo x > /etc/ld.so.preload; echo x > /etc/profile.d/$MARK; sed -i s/agent/root/ /etc/passwd /etc/group; id -u`, want: `(` + readOnly + `|` + denied + `)(.|\n)*\n1000$`},
		{name: "overwrite own program", shell: `cp /bin/true /.sbx/init; : > /proc/1/exe; : > /proc/$PPID/exe; exec 9<>/.sbx/init; rm -f /.sbx/init; ls /.sbx | wc -l`, want: `(` + readOnly + `|` + denied + `|busy)(.|\n)*\n1$`},
		{name: "be the program that is started next",
			shell: `mkdir -p ~/bin ~/.local/bin; for n in bash sh ls python3; do printf '#!/proc/self/exe\n' > ~/bin/$n; chmod 755 ~/bin/$n; done; echo 'echo HIJACKED' > ~/.bashrc; cp ~/.bashrc ~/.profile; cp ~/.bashrc ~/.bash_profile; ./$MARK; /home/agent/bin/ls; echo planted`,
			uses:  []use{tool("bash", "command", "ls >/dev/null; echo clean")}, want: `planted\nclean$`},
		{name: "plant a program for other users", shell: `cp /bin/bash s; chmod u+s s; chmod 6755 s; install -m 4755 /bin/true t; python3 -c 'import os; os.mknod("m", 0o104755)'; tar --version >/dev/null && ln /usr/bin/su hard; stat -c %a s t m`, want: notPerm + `(.|\n)*7[0-7]5\n`},
		{name: "plant a program by every call", shell: python(`
import os
for f in (lambda: os.open("a", os.O_CREAT | os.O_WRONLY, 0o4755), lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755),
        lambda: os.fchmod(os.open("b", os.O_CREAT | os.O_RDWR), 0o6755), lambda: os.mknod("c", 0o14755),
        lambda: os.setxattr("b", "security.capability", b"\1\0\0\2" + b"\xff" * 16)):
    try: f(); print("made")
    except OSError as e: print(e.strerror)`), want: `^(` + notPerm + `\n?){5}`, always: true},
		{name: "plant a program by an archive", shell: `python3 - <<'END'
import io, tarfile, os
t = tarfile.open("a.tar", "w")
i = tarfile.TarInfo("s"); i.mode = 0o6755; i.size = 4; t.addfile(i, io.BytesIO(b"true"))
i = tarfile.TarInfo("d"); i.type = tarfile.BLKTYPE; i.devmajor, i.devminor, i.mode = 254, 0, 0o666; t.addfile(i)
i = tarfile.TarInfo("../../../../../../tmp/" + os.environ["MARK"] + "-tar"); i.size = 4; t.addfile(i, io.BytesIO(b"true"))
i = tarfile.TarInfo("l"); i.type = tarfile.SYMTYPE; i.linkname = "/etc"; t.addfile(i)
i = tarfile.TarInfo("l/" + os.environ["MARK"]); i.size = 4; t.addfile(i, io.BytesIO(b"true"))
t.close()
END
tar xpPf a.tar; stat -c '%n %a' s; ls d`, want: `(` + notPerm + `|` + denied + `)(.|\n)*` + missing},
		{name: "create and open devices", shell: `mknod d b 254 0; mknod m c 1 1; python3 -c 'import os; os.mknod("k", 0o20666, os.makedev(1, 2))'; cat /dev/vda /dev/sda /dev/mem /dev/kmsg /dev/fuse /dev/kvm /dev/vsock /dev/loop-control; ls d m k`, want: `(` + denied + `|` + notPerm + `)(.|\n)*` + missing},
		{name: "hard link across the mounts", shell: `ln /usr/bin/env hard; ln /etc/passwd p; ln /.sbx/init i; ln ~/.attack outputs 2>&1; ls hard p i`, want: `(cross-device|` + notPerm + `)(.|\n)*` + missing},
		{name: "give files away", shell: `touch o; chown 0:0 o; chown 65534 o; chgrp 0 o; setfacl -m u:0:rwx o; stat -c '%u %g' o`, want: `(` + notPerm + `|Invalid argument)(.|\n)*\n1000 1000$`},
		{name: "mount over what is shown", shell: `mount --bind /usr/share /mnt/user-data/outputs; umount -l /mnt/user-data/workspace; mv /mnt/user-data/workspace /mnt/user-data/gone; rmdir /mnt/user-data/uploads; ls -d /mnt/user-data/workspace`, want: `(superuser|denied|not permitted)(.|\n)*\n/mnt/user-data/workspace$`},
		{name: "change modes, owners, times and attributes of the host", shell: `python3 - <<'END'
import ctypes, os, threading
l = ctypes.CDLL(None, use_errno=True)
data, done = os.environ["DATA"], []
times, two = (ctypes.c_long * 4)(1, 0, 1, 0), (ctypes.c_long * 2)(1, 1)
def call(*args):
    if l.syscall(*args) >= 0: done.append(args)
for i, path in enumerate((os.environ["SECRET"], os.environ["OUTSIDE"], data, data + "/secrets.env", data + "/fawn.db",
        data + "/threads", data + "/threads/victim/user-data/workspace/private")):
    os.symlink(path, f"link{i}")
    names = [path.encode(), b"link%d" % i]
    try: fd = os.open(path, os.O_PATH)
    except OSError: pass
    else:
        names += [b"/proc/self/fd/%d" % fd, b"/dev/fd/%d" % fd, b"/proc/%d/fd/%d" % (os.getpid(), fd)]
        call(452, fd, b"", 0o777, 0x1000); call(260, fd, b"", -1, os.getgid(), 0x1000)
        call(280, fd, b"", times, 0x1000); call(280, fd, None, times, 0); call(91, fd, 0o777); call(93, fd, -1, os.getgid())
    for n in names:
        call(90, n, 0o777); call(268, -100, n, 0o777); call(452, -100, n, 0o777, 0)
        call(92, n, -1, os.getgid()); call(260, -100, n, -1, os.getgid(), 0)
        call(132, n, two); call(235, n, times); call(261, -100, n, times); call(280, -100, n, times, 0)
        call(188, n, b"user.x", b"1", 1, 0); call(197, n, b"user.x")
        call(463, -100, n, 0, b"user.x", two, 16); call(469, -100, n, two, 16, 0)
open("own", "w").close()
os.chmod("own", 0o640); os.chown("own", -1, os.getgid()); os.utime("own", (5, 5)); os.fchmod(os.open("own", 0), 0o640)
if hasattr(os, "lchown"): os.lchown("link0", -1, os.getgid())
# A link that changes while it is looked at.
def change():
    for _ in range(1500): call(90, b"swap", 0o640)
os.symlink("own", "swap")
t = threading.Thread(target=change); t.start()
while t.is_alive():
    for to in (os.environ["SECRET"], "own"):
        os.symlink(to, "next"); os.rename("next", "swap")
done = [d for d in done if d[1] != b"swap"]
print(done, oct(os.stat("own").st_mode), int(os.stat("own").st_mtime))
END`, want: `^\[\] 0o100640 5\b`, always: true},
		{name: "watch folders of others", shell: `python3 - <<'END'
import ctypes, os
l = ctypes.CDLL(None)
fd = l.inotify_init1(0)
for path in (os.environ["OUTSIDE"], os.environ["DATA"], os.environ["DATA"] + "/threads/victim/user-data/workspace"):
    if fd >= 0 and l.inotify_add_watch(fd, path.encode(), 0xfff) >= 0: print("CANARY" "-watched", path)
print("tried")
END`, want: `^tried\b`, always: true},
		{name: "dump core onto the host", shell: `ulimit -c unlimited; ulimit -c; cd /tmp; python3 -c 'import os; os.abort()'; ls -A /tmp /mnt/user-data/workspace | grep -c core`, want: `^.*cannot modify limit(.|\n)*\n0\nExit Code: 1$`},
		{name: "leave links for the owner",
			shell: `ln -s "$SECRET" /mnt/user-data/outputs/report.txt; ln -s "$DATA" /mnt/user-data/outputs/folder; ln -s /proc/self/environ /mnt/user-data/outputs/env.txt; echo left`,
			uses: []use{tool("present_files", "filepaths", []string{"/mnt/user-data/outputs/report.txt"}),
				tool("present_files", "filepaths", []string{"/mnt/user-data/outputs/env.txt"}),
				tool("ls", "path", "/mnt/user-data/outputs")},
			want: `left\nError: (.|\n)*\nError: `,
			host: func(t *testing.T, w *world, thread string) []string {
				return w.fetched(t, thread, "outputs/report.txt", "outputs/env.txt", "outputs/folder/secrets.env",
					"outputs/folder/threads/victim/user-data/workspace/private")
			}},
		{name: "hide files from the quota", shell: `mkdir deep; cd deep; for i in $(seq 300); do mkdir d; cd d || break; done; echo x > x; cd /mnt/user-data/workspace; mv deep $'bad\xff\nname'; ls | wc -l`, want: `\d`},
		{name: "keep files after the thread",
			shell: `mkdir -p locked/in; echo x > locked/in/$MARK; chmod 0 locked/in locked; ln -s "$OUTSIDE" out; setsid sleep 3600 >/dev/null 2>&1 & echo kept`, want: `kept`,
			host: func(t *testing.T, w *world, thread string) (damage []string) {
				if status, body := w.send(t, "DELETE", "/api/threads/"+thread, "", ""); status >= 300 {
					damage = append(damage, "the thread is not deleted: "+body)
				}
				if _, err := os.Lstat(filepath.Join(w.data, "threads", thread)); !os.IsNotExist(err) {
					damage = append(damage, "files are left of the thread")
				}
				return damage
			}},
	}
}

// fetched is what a client gets of files that it must not get.
func (w *world) fetched(t *testing.T, thread string, names ...string) (damage []string) {
	t.Helper()
	for _, name := range names {
		status, body := w.send(t, "GET", "/api/threads/"+thread+"/artifacts/mnt/user-data/"+name, "", "")
		if status < 400 {
			damage = append(damage, name+" is served: "+body)
		}
	}
	return damage
}
