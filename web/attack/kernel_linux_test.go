package attack_test

// python runs a program.
func python(text string) string { return "python3 - <<'END'\n" + text + "\nEND\n" }

// onKernel are attacks on privileges and on the kernel.
func onKernel() []attack {
	return []attack{
		{name: "become root by setuid programs", shell: `for p in su sudo mount umount newgrp chsh passwd pkexec newuidmap fusermount; do [ -x /usr/bin/$p ] && timeout 2 $p -c id </dev/null; done; grep -E 'NoNewPrivs|CapEff' /proc/self/status; id -u`, want: `CapEff:\t0000000000000000\nNoNewPrivs:\t1\n1000$`},
		{name: "become root by calls", shell: python(`
import os
for f, a in ((os.setuid, (0,)), (os.setgid, (0,)), (os.setresuid, (0, 0, 0)), (os.setgroups, ([0],)), (os.chroot, (".",)), (os.nice, (-5,))):
    try: f(*a); print(f.__name__, "worked")
    except OSError as e: print(e.strerror)
print(os.getuid(), os.geteuid())`), want: `^((` + notPerm + `|` + denied + `|Invalid argument)\n){6}1000 1000$`},
		{name: "regain capabilities", shell: call(`126, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)`) + call(`157, 47, 2, 21, 0, 0`) + call(`157, 24, 21, 0, 0, 0`) + `grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u`, want: `^-1 ` + notPerm + `\n-1 .*\n-1 ` + notPerm + `\n0000000000000000$`},
		{name: "namespaces of every kind",
			shell: `for f in U m p n i u C T; do unshare -$f true && echo new $f; unshare -U$f true && echo new U$f; done; ` + python(`
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
    r = l.syscall(56, flag | 17, 0, 0, 0, 0)
    if r == 0: os._exit(0)
    print("new" if r > 0 else os.strerror(ctypes.get_errno()))`), want: `(` + notPerm + `\n?){7}`, host: nothingNew},
		{name: "namespaces by the newer call", shell: python(`
import ctypes, os, struct
l = ctypes.CDLL(None, use_errno=True)
for flag in (0x10000000, 0x20000, 0):
    print(l.syscall(435, struct.pack("11Q", flag, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88), os.strerror(ctypes.get_errno()))`),
			want: `^(-1 Function not implemented\n?){3}`},
		{name: "enter namespaces of others", shell: python(`
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
for pid in ("1", "self", str(os.getppid())):
    for kind in ("user", "mnt", "pid", "net"):
        try: fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError as e: print(e.strerror); continue
        print(l.setns(fd, 0), os.strerror(ctypes.get_errno()))`) + `nsenter -t 1 -a true`,
			want: `^((-1 )?(` + notPerm + `|` + denied + `)\n){12}`},
		{name: "allow namespaces again", shell: `echo 1000 > /proc/sys/user/max_user_namespaces; echo 1 > /proc/sys/kernel/unprivileged_userns_clone; echo '0 0 1' > /proc/self/uid_map; echo allow > /proc/self/setgroups; cat /proc/sys/user/max_user_namespaces`, want: `(` + readOnly + `|` + denied + `)(.|\n)*\n0$`},
		{name: "mount by every call", shell: call(`165, b"x", b"/tmp", b"tmpfs", 0, 0`) + call(`165, b"/usr", b"/tmp", 0, 4096, 0`) + call(`428, -100, b"/", 1`) + call(`429, -1, b"", -1, b"", 0`) + call(`430, b"tmpfs", 0`) + call(`433, -100, b"/", 0`) + call(`442, -100, b"/", 0, ctypes.create_string_buffer(32), 32`) + call(`166, b"/proc", 2`) + call(`155, b".", b"."`) + call(`161, b"/tmp"`), want: `^(-1 ` + notPerm + `\n){9}-1 ` + notPerm},
		{name: "make mounts writable", shell: `mount -o remount,rw,bind / ; mount -o remount,rw /usr; grep -c ' / / ro' /proc/self/mountinfo; touch /usr/$MARK`, want: `(superuser|denied|not permitted)(.|\n)*` + readOnly},
		{name: "kernel settings", shell: `echo "|/tmp/$MARK" > /proc/sys/kernel/core_pattern; echo /tmp/$MARK > /proc/sys/kernel/modprobe; echo evil > /proc/sys/kernel/hostname; echo 2 > /proc/sys/vm/overcommit_memory; sysctl -w kernel.randomize_va_space=0; echo b > /proc/sysrq-trigger; ls /sys`, want: `(` + readOnly + `|` + denied + `)(.|\n)*` + missing},
		{name: "trace those who watch", shell: python(`
import ctypes, os, signal
l = ctypes.CDLL(None, use_errno=True)
for pid in (1, os.getppid()):
    for request in (16, 0x4206):
        print(l.ptrace(request, pid, 0, 0), os.strerror(ctypes.get_errno()))
    b = ctypes.create_string_buffer(64)
    v = (ctypes.c_void_p * 2)(ctypes.addressof(b), 64)
    print(l.process_vm_readv(pid, v, 1, v, 1, 0), os.strerror(ctypes.get_errno()))
    fd = os.pidfd_open(pid)
    print(l.syscall(438, fd, 0, 0), os.strerror(ctypes.get_errno()))`), want: `^(-1 ` + notPerm + `\n?){8}`},
		{name: "look into those who watch", shell: `for p in 1 $(ps -o ppid= -p $PPID); do for f in environ mem maps stack auxv syscall fd/0 cwd exe root; do head -c 1 /proc/$p/$f && echo; done; done`, want: denied},
		{name: "kernel memory and logs", shell: `for f in kcore kallsyms keys timer_list modules slabinfo kmsg; do head -c 40 /proc/$f | tr -d '\0' | head -c 10; done 2>/dev/null | wc -c; dmesg; cat /sys/kernel/debug /boot/System.map*`, want: `^\d\d?\n(.|\n)*` + notPerm},
		{name: "programs in the kernel", shell: call(`321, 0, ctypes.create_string_buffer(128), 128`) + call(`298, ctypes.create_string_buffer(128), 0, -1, -1, 0`) + call(`323, 1`) + call(`425, 8, ctypes.create_string_buffer(120)`), want: `^(-1 ` + notPerm + `\n?){4}`},
		{name: "keys of the kernel", shell: call(`250, 0, -3, 1`) + call(`248, b"user", b"a", b"b", 1, -3`) + call(`249, b"user", b"a", 0, 0`) + `keyctl show`, want: `^(-1 ` + notPerm + `\n){3}`},
		{name: "files by their handles", shell: python(`
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
h = ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0\x02\0\0\0\0\0\0\0", 144)
for path in (b"/", b"/mnt/user-data/workspace", b"/proc"):
    fd = os.open(path, os.O_RDONLY)
    print(l.syscall(304, fd, h, 0), os.strerror(ctypes.get_errno()))
    print(l.syscall(303, fd, b"", h, ctypes.byref(ctypes.c_int()), 0x1000), os.strerror(ctypes.get_errno()))`), want: `^(-1 ` + notPerm + `\n?){6}`},
		{name: "modules, kernels and power", shell: call(`175, 0, 0, b""`) + call(`313, 0, b"", 0`) + call(`246, 0, 0, 0, 0`) + call(`169, 0xfee1dead, 672274793, 0x1234567, 0`) + call(`167, b"/x", 0`) + call(`163, 0`), want: `^(-1 ` + notPerm + `\n?){6}`},
		{name: "clock and name of the host", shell: `date -s 2001-01-01; hostname evil; ` + call(`170, b"evil", 4`) + call(`171, b"evil", 4`) + call(`227, 0, ctypes.create_string_buffer(16)`) + call(`164, ctypes.create_string_buffer(16), 0`) + call(`159, ctypes.create_string_buffer(b"\xff" * 208, 208)`), want: `(-1 ` + notPerm + `\n?){5}`},
		{name: "another numbering of calls", shell: call(`0x40000000 + 165, b"x", b"/tmp", b"tmpfs", 0, 0`) + call(`0x40000000 + 39`), want: `^(-1 Function not implemented\n?){2}`},
		{name: "calls of 32 bits", shell: python(`
import ctypes, mmap, os
m = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
m.write(b"\x53\xb8\x14\0\0\0\xcd\x80\x5b\xc3") # getpid by interrupt 0x80
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
l = ctypes.CDLL(None); l.syscall(39)
print("called", f() == os.getpid())`), want: `(Bad system call|Segmentation fault)(.|\n)*Exit Code: 1(59|39)`},
		{name: "type into terminals", shell: python(`
import ctypes, os
l = ctypes.CDLL(None, use_errno=True)
m, s = os.openpty()
for request in (0x5412, 0x100005412, 0x541c, 0xffffffff0000541c):
    print(l.syscall(16, s, ctypes.c_ulong(request), b"x"), os.strerror(ctypes.get_errno()))`), want: `^(-1 ` + notPerm + `\n?){4}`},
		{name: "take off the filter", shell: `grep -E '^Seccomp:' /proc/self/status; ` + call(`157, 22, 0, 0, 0, 0`) + call(`157, 22, 1, 0, 0, 0`) + call(`157, 38, 0, 0, 0, 0`) + `grep -E 'Seccomp:|NoNewPrivs:' /proc/self/status`, want: `^Seccomp:\t2\n-1 (.|\n)*NoNewPrivs:\t1\nSeccomp:\t2$`},
		{name: "run from unnamed memory", shell: python(`
import os
try: fd = os.memfd_create("x"); print("made")
except OSError as e: print(e.strerror)`) + `cp /bin/true /dev/shm/x; /dev/shm/x; echo $?`, want: `^` + notPerm + `\n`},
		{name: "processors, ports and tables", shell: call(`173, 0, 1024, 1`) + call(`172, 3`) + call(`154, 1, ctypes.create_string_buffer(16), 16`) + call(`135, 0x0400000`) + call(`256, 0, 8, 0, 0`) + call(`279, 1, 0, 0, 0, 0, 0`), want: `^(-1 ` + notPerm + `\n?){6}`},
		{name: "raise limits", shell: `echo -1000 > /proc/self/oom_score_adj; ulimit -Hu unlimited; ulimit -Hn 100000; ulimit -Hf unlimited; nice -n -10 true`, want: denied + `(.|\n)*(cannot modify limit(.|\n)*){3}`, always: true},
		{name: "watch files of all", shell: call(`300, 0, 0`) + call(`301, 3, 1, 0x20, -100, b"/"`) + call(`443, 0, b"/", 0, 0`), want: `^(-1 ` + notPerm + `\n?){3}`},
	}
}
