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
	// roomCall is the number of processes and threads that a command needs at its start, including its parent.
	roomCall = 16
	// Page tables below this are not asked for.
	tablesFloor = 256 << 10
	// Shared pages below this are libraries.
	sharedFloor = 8 << 20
	// awaitKilled is the time a killed process has to release its memory before the next one is killed.
	awaitKilled = 250 * time.Millisecond
)

// guard limits memory without control groups: it adds up the memory of processes and temporary files and kills the
// largest process, but never the parent of a running command. It also detects when the process limit is reached. It
// sleeps while nothing runs.
type guard struct {
	limit int64 // of memory, in bytes; 0 disables the check
	pids  int   // the limit of processes; 0 means none
	plain bool  // temporary files and sockets belong to the host
	own   bool  // the sandbox has a separate network
	wake  chan struct{}
	held  holds // only run uses it
	// look takes a snapshot of processes, with the parents of running commands.
	look func() (tree, map[int]int)
	// killed is called with the process that was ended and the reason.
	killed func(t tree, n int, why string)
	// crowded is called when no more processes can start.
	crowded func()
	// full means that at the last check there was hardly room for one more command.
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
			// The socket count may be outdated; use current values.
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

// room returns the processes that one more command needs.
func (g *guard) room() int { return min(g.pids/4, roomCall) }

// fills reports whether a load leaves hardly room for one more command.
func (g *guard) fills(load int) bool { return load >= g.pids-g.room() }

// files returns the memory of temporary files. They can't hold most of the memory, where killing processes would free
// nothing: ending the sandbox does.
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

// memory adds up the bytes of the processes' private pages, page tables and shared memory: mapped by processes, or held
// by temporary files and System V segments. These overlap, so the larger of the two counts. sizes holds the size of
// each process.
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

// statm reads a process's size, resident and shared memory, in pages.
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

// tables returns the size of a process's page tables. They are at most 8 bytes per 4 KiB page, so they are read only
// for large processes.
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

// temporary returns the size of files in temporary file systems.
func temporary() (sum int64) {
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			sum += int64(st.Blocks-st.Bfree) * st.Bsize
		}
	}
	return sum
}

// segments returns the size of System V segments, which outlive processes.
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

// printable keeps the safe characters of a program-chosen name.
func printable(name []byte) string {
	return string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, name))
}
