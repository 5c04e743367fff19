package jail

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	guardSlow = 50 * time.Millisecond
	guardFast = 10 * time.Millisecond
	// roomCall is what a command takes, with its parent, before it does anything.
	roomCall = 16
	// Page tables below this are not asked for.
	tablesFloor = 256 << 10
	// Shared pages below this are libraries.
	sharedFloor = 8 << 20
	// awaitKilled is how long a process that was killed may take to let go of its memory,
	// before another one is.
	awaitKilled = 250 * time.Millisecond
)

// guard bounds memory where no control group does: it adds up what processes
// and temporary files hold and ends the largest process, but never the parent of a
// running command. It also notices when the limit of processes is reached. While
// nothing runs it sleeps.
type guard struct {
	limit int64 // of memory, in bytes; 0 where it need not look
	pids  int   // the limit of processes; 0 means none
	plain bool  // temporary files and sockets are those of the host
	own   bool  // the network is that of the sandbox
	wake  chan struct{}
	held  holds // only run uses it
	// look pictures processes, with the parents of running commands.
	look func() (tree, map[int]int)
	// killed is told which process was ended and why.
	killed func(t tree, n int, why string)
	// crowded is told that no more processes can start.
	crowded func()
	// full says that there was hardly room for one more command when it last looked.
	full atomic.Bool
}

func (g *guard) run() {
	for {
		files := g.files()
		t, calls := g.look()
		if len(t.below(t.self)) == 0 {
			g.full.Store(false)
			<-g.wake
			continue
		}
		if g.pids > 0 {
			load := t.load()
			g.full.Store(g.fills(load))
			if load >= g.pids {
				g.crowded()
			}
		}
		if g.limit == 0 {
			time.Sleep(guardSlow)
			continue
		}
		sum, victim := g.use(t, calls, files)
		if sum > g.limit {
			// Sockets may have been counted a moment ago. What there is now decides.
			g.held = holds{}
			files = g.files()
			t, calls = g.look()
			sum, victim = g.use(t, calls, files)
		}
		if sum > g.limit && victim > 0 {
			g.end(t, victim, sum)
		}
		pause := guardSlow
		if sum > g.limit/8 {
			pause = guardFast
		}
		time.Sleep(pause)
	}
}

// room is what one more command takes.
func (g *guard) room() int { return min(g.pids/4, roomCall) }

// fills reports whether a load leaves hardly room for one more command.
func (g *guard) fills(load int) bool { return load >= g.pids-g.room() }

// files is what temporary files hold. They cannot hold most of the memory: ending
// processes would then free nothing, but ending the sandbox does.
func (g *guard) files() (sum int64) {
	if g.limit > 0 && !g.plain {
		sum = temporary() + segments()
	}
	if g.limit > 0 && sum > g.limit/4*3 {
		os.Exit(1)
	}
	return sum
}

// use adds up all memory and finds the process that would be ended for it, if there is one.
func (g *guard) use(t tree, calls map[int]int, files int64) (sum int64, victim int) {
	all := t.below(t.self)
	sum, sizes := memory(all, files)
	buffers := g.buffers(all)
	commands := slices.DeleteFunc(all, func(n int) bool { _, parent := calls[n]; return parent })
	var top int64
	for _, n := range commands {
		if sizes[n] > top {
			victim, top = n, sizes[n]
		}
	}
	sum += buffers
	if sum > g.limit && buffers > top {
		victim = mostSockets(commands, victim)
	}
	return sum, victim
}

// end kills a process and waits for its memory, which would else count for others.
func (g *guard) end(t tree, victim int, sum int64) {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(victim) + "/comm")
	g.killed(t, victim, fmt.Sprintf("memory limit exceeded (%d MiB > %d MiB): killed %s", sum>>20, g.limit>>20,
		printable(bytes.TrimSpace(name))))
	t.signal(victim, unix.SIGKILL)
	await(victim, awaitKilled)
	g.held = holds{}
}

// memory adds up, in bytes, private pages of processes, the tables for them and what is
// shared: either mapped by processes or held by temporary files and System V segments. Much
// is both, so the larger of the two counts. sizes are those of each process.
func memory(all []int, files int64) (sum int64, sizes map[int]int64) {
	page := int64(os.Getpagesize())
	sizes = make(map[int]int64, len(all))
	var mapped int64
	for _, n := range all {
		size, rss, other := statm(n)
		private, shared := (rss-other)*page+tables(n, size*page), int64(0)
		if other*page > sharedFloor {
			shared = sharedMemory(n)
			mapped += shared
		}
		sum += private
		sizes[n] = private + shared
	}
	return sum + max(mapped, files), sizes
}

// statm reads the size of a process, what is in memory and what of that is shared, in pages.
func statm(n int) (size, rss, shared int64) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/statm")
	if err != nil {
		return 0, 0, 0
	}
	f := bytes.Fields(b)
	if len(f) < 3 {
		return 0, 0, 0
	}
	return number(f[0]), number(f[1]), number(f[2])
}

// tables is what the page tables of a process of that size take up. There are at most 8
// bytes for each page of 4 KiB: only where that is much is it worth asking.
func tables(n int, size int64) int64 {
	most := size / 512
	if most < tablesFloor {
		return most
	}
	if v, ok := field("/proc/"+strconv.Itoa(n)+"/status", "\nVmPTE:"); ok {
		return v
	}
	return most
}

// sharedMemory returns a process's part of mapped memory that has no file on a disk. A process may refuse the exact
// answer; then all it has mapped counts.
func sharedMemory(n int) int64 {
	dir := "/proc/" + strconv.Itoa(n)
	if v, ok := field(dir+"/status", "\nRssShmem:"); !ok || v < sharedFloor {
		return 0
	} else if part, ok := field(dir+"/smaps_rollup", "\nPss_Shmem:"); ok {
		return part
	} else {
		return v
	}
}

// field reads a number of KiB after a name.
func field(file, name string) (int64, bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(b, []byte(name))
	f := bytes.Fields(rest)
	if !ok || len(f) == 0 {
		return 0, false
	}
	return number(f[0]) << 10, true
}

// temporary is what files in the temporary file systems hold.
func temporary() (sum int64) {
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			sum += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return sum
}

// segments are those of System V, which live on without a process.
func segments() (sum int64) {
	b, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) > 14 {
			sum += number(f[14])
		}
	}
	return sum
}

func number(b []byte) int64 {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// printable keeps what is safe in a message of a name that a program chose.
func printable(name []byte) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name))
}
