package jail

import (
	"bytes"
	"fmt"
	"os"
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
)

// guard bounds memory where no control group does: it adds up what processes
// and temporary files hold and ends the largest process. It also notices when
// the limit of processes is reached. While nothing runs it sleeps.
type guard struct {
	limit int64 // of memory, in bytes; 0 where it need not look
	pids  int   // the limit of processes; 0 means none
	plain bool  // temporary files and sockets are those of the host
	own   bool  // the network is that of the sandbox
	wake  chan struct{}
	held  holds // only run uses it
	// killed is told which process was ended and why.
	killed func(t tree, n int, why string)
	// crowded is told that no more processes can start.
	crowded func()
	// full says that there was hardly room for one more command when it last looked.
	full atomic.Bool
}

func (g *guard) run() {
	for {
		files := int64(0)
		if g.limit > 0 && !g.plain {
			files = temporary() + segments()
		}
		// Temporary files cannot be that much. Ending processes would free nothing;
		// ending the sandbox does.
		if g.limit > 0 && files > g.limit/4*3 {
			os.Exit(1)
		}
		t := processes()
		all := t.below(t.self)
		if len(all) == 0 {
			g.full.Store(false)
			<-g.wake
			continue
		}
		if g.pids > 0 {
			load := t.load()
			g.full.Store(load >= g.pids-min(g.pids/4, roomCall))
			if load >= g.pids {
				g.crowded()
			}
		}
		if g.limit == 0 {
			time.Sleep(guardSlow)
			continue
		}
		sum, largest, top := memory(all, files)
		buffers := g.buffers(all)
		sum += buffers
		if sum > g.limit && buffers > top {
			largest = mostSockets(all, largest)
		}
		if sum > g.limit && largest > 0 {
			name, _ := os.ReadFile("/proc/" + strconv.Itoa(largest) + "/comm")
			g.killed(t, largest, fmt.Sprintf("memory limit exceeded (%d MiB > %d MiB): killed %s", sum>>20, g.limit>>20, printable(bytes.TrimSpace(name))))
			t.signal(largest, unix.SIGKILL)
		}
		pause := guardSlow
		if sum > g.limit/8 {
			pause = guardFast
		}
		time.Sleep(pause)
	}
}

// memory adds up, in bytes, private pages of processes, the tables for them and what is
// shared: either mapped by processes or held by temporary files and System V segments. Much
// is both, so the larger of the two counts.
func memory(all []int, files int64) (sum int64, largest int, top int64) {
	page := int64(os.Getpagesize())
	var mapped int64
	for _, n := range all {
		size, rss, other := statm(n)
		private, shared := (rss-other)*page+tables(n, size*page), int64(0)
		if other*page > sharedFloor {
			shared = sharedMemory(n)
			mapped += shared
		}
		sum += private
		if private+shared > top {
			largest, top = n, private+shared
		}
	}
	return sum + max(mapped, files), largest, top
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

// sharedMemory is a process's part of mapped memory that has no file on a disk.
// A process may refuse the exact answer; then all it has mapped counts.
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
