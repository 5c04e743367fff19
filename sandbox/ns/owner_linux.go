package ns

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

// uidRange is the number of user ids that threads are spread over, and uidFew the minimum that is useful.
const (
	uidRange = 1 << 16
	uidFew   = 1 << 10
)

// Owners assigns each running thread a unique user id of the host, so that threads stay isolated even if other
// protections fail. It is for a root server.
type Owners struct {
	base, n int
	mu      sync.Mutex
	live    map[int]*tenant // by user id, guarded by mu
}

type tenant struct {
	thread string
	boxes  int
}

// newOwners returns nil for a server that isn't root, or is root of a container without ids to assign. In a container,
// base may not exist; the upper half of the existing ids is used then.
func newOwners(proc string, base int) *Owners {
	if os.Geteuid() != 0 {
		return nil
	}
	users, groups := widest(filepath.Join(proc, "self/uid_map")), widest(filepath.Join(proc, "self/gid_map"))
	from, to := max(users[0], groups[0]), min(users[1], groups[1])
	n := uidRange
	if base < from || base+n > to {
		base = from + (to-from)/2
		n = min(uidRange, to-base)
	}
	if n < uidFew {
		return nil
	}
	return &Owners{base: base, n: n, live: map[int]*tenant{}}
}

// TakeLast takes the last id out of the range, for a group that all threads are in.
func (o *Owners) TakeLast() int {
	o.n--
	return o.base + o.n
}

// Has reports whether a user id is reserved for threads.
func (o *Owners) Has(uid int) bool { return uid >= o.base && uid < o.base+o.n }

// widest returns the longest range of ids in a map: its first, and the one after its last.
func widest(file string) (r [2]int) {
	b, err := os.ReadFile(file)
	if err != nil {
		return r
	}
	for line := range strings.Lines(string(b)) {
		var inside, outside, n int
		if k, err := fmt.Sscan(line, &inside, &outside, &n); err == nil && k == 3 && n > r[1]-r[0] {
			r = [2]int{inside, inside + n}
		}
	}
	return r
}

// Claim selects a thread's user id and makes it the owner of its files. A thread keeps its previous id if possible.
// Call release when all processes of the thread have ended.
func (o *Owners) Claim(ctx context.Context, d files.Dirs, thread string) (uid int, release func(), err error) {
	base, err := d.Folder(thread)
	if err != nil {
		return 0, nil, err
	}
	data, home := filepath.Join(base, "user-data"), filepath.Join(base, "sandbox", "home")
	var st, sth unix.Stat_t
	if err := errors.Join(unix.Lstat(data, &st), unix.Lstat(home, &sth)); err != nil {
		return 0, nil, files.OpError("look at files of thread", thread, err)
	}
	uid, err = o.pick(thread, int(st.Uid))
	if err != nil {
		return 0, nil, err
	}
	release = sync.OnceFunc(func() { o.release(uid) })
	if int(st.Uid) == uid && int(sth.Uid) == uid {
		return uid, release, nil
	}
	// New files follow the owner of the first folder. The home is changed last and marks completion.
	err = os.Lchown(data, uid, uid)
	for _, dir := range []string{data, home} {
		if err == nil {
			err = files.EachFile(ctx, dir, func(parent int, name string, _ *unix.Stat_t) error {
				err := unix.Fchownat(parent, name, uid, uid, unix.AT_SYMLINK_NOFOLLOW)
				if !errors.Is(err, unix.ENOENT) {
					return err
				}
				return nil
			})
		}
	}
	if err == nil {
		err = os.Lchown(home, uid, uid)
	}
	if err != nil {
		release()
		return 0, nil, files.OpError("give files to the user of thread", thread, err)
	}
	return uid, release, nil
}

func (o *Owners) pick(thread string, now int) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for uid, t := range o.live {
		if t.thread == thread {
			t.boxes++
			return uid, nil
		}
	}
	h := fnv.New32a()
	h.Write([]byte(thread))
	start := int(h.Sum32() % uint32(o.n))
	if now >= o.base && now < o.base+o.n {
		start = now - o.base
	}
	for i := range o.n {
		uid := o.base + (start+i)%o.n
		if o.live[uid] == nil {
			o.live[uid] = &tenant{thread, 1}
			return uid, nil
		}
	}
	return 0, sandbox.ErrBusy
}

func (o *Owners) release(uid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.live[uid]; t != nil {
		if t.boxes--; t.boxes == 0 {
			delete(o.live, uid)
		}
	}
}

// createHome creates the home of a thread's commands, which counts toward the thread's disk space but isn't one of the
// user's files.
func createHome(d files.Dirs, thread string) error {
	base, err := d.Folder(thread)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(base, "sandbox"), 0o700); err != nil {
		return files.OpError("make home of thread", thread, err)
	}
	if err := os.Mkdir(filepath.Join(base, "sandbox", "home"), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return files.OpError("make home of thread", thread, err)
	}
	return nil
}

// kernel returns the version of the running one.
func kernel() (major, minor int) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return 0, 0
	}
	if n, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil || n != 2 {
		return 0, 0
	}
	return major, minor
}
