package jail

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A socket's buffered data can't be measured; this is the default maximum.
	socketBytes = 208 << 10
	// A pipe beyond a user's limit of large ones holds two pages.
	pipeBytes = 8 << 10
	// So many sockets and pipes are ordinary, and taken as empty.
	freeSockets, freePipes = 64, 256
	// descriptors other than sockets assumed for a process that hides them
	freeHidden = 16
	// TCP grows its buffers; its queues are added where there are more connections.
	freeTCP = 4
)

// holds caches the last estimate of data in sockets and pipes, which requires a scan of every open file.
type holds struct {
	sum  int64
	next time.Time
}

const (
	// Interval of such a check, and the maximum share of the time that it may take.
	holdsLook  = 100 * time.Millisecond
	holdsShare = 20
)

// buffers estimates the bytes held in sockets and pipes. In a separate network all sockets belong to the sandbox,
// including those in transit through other sockets.
func (g *guard) buffers(all []int) int64 {
	start := time.Now()
	if start.Before(g.held.next) {
		return g.held.sum
	}
	sockets, tcp := int64(0), int64(0)
	if g.own {
		sockets, tcp = inNetwork()
	}
	open, pipes := endpoints(all)
	sum := max(0, max(sockets, open)-freeSockets)*socketBytes + max(0, pipes-freePipes)*pipeBytes
	if tcp > freeTCP {
		sum = max(sum, queues())
	}
	g.held = holds{sum, time.Now().Add(max(holdsLook, holdsShare*time.Since(start)))}
	return sum
}

// inNetwork counts this network's sockets, and the TCP sockets among them.
func inNetwork() (all, tcp int64) {
	b, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0, 0
	}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 3 {
			continue
		}
		switch string(f[0]) {
		case "sockets:":
			all = number(f[2])
		case "TCP:":
			tcp = number(f[2])
		}
	}
	return all, tcp
}

// endpoints counts the sockets and pipes that processes have open, if there can be many. All
// that a process hides are taken for sockets.
func endpoints(all []int) (sockets, pipes int64) {
	seen := map[string]bool{}
	if descriptors := countDescriptors(all); descriptors >= 0 && descriptors <= freeSockets {
		return 0, 0
	}
	for _, n := range all {
		seeable := links(n, func(to string) {
			if seen[to] {
				return
			}
			seen[to] = true
			switch {
			case strings.HasPrefix(to, "socket:"):
				sockets++
			case strings.HasPrefix(to, "pipe:"):
				pipes++
			}
		})
		if !seeable {
			sockets += max(0, countDescriptors([]int{n})-freeHidden)
		}
	}
	return sockets, pipes
}

// countDescriptors adds up the open descriptors of processes, or returns -1 on kernels before Linux 6.2, which don't
// report them.
func countDescriptors(all []int) (sum int64) {
	for _, n := range all {
		var st unix.Stat_t
		switch err := unix.Stat("/proc/"+strconv.Itoa(n)+"/fd", &st); {
		case err == nil && st.Size > 0:
			sum += st.Size
		case err == nil && st.Mode&unix.S_IRUSR != 0 && int(st.Uid) == os.Getuid():
			return -1
		}
	}
	return sum
}

// links visits the targets of a process's descriptors. It returns false for a process that hides them.
func links(n int, visit func(to string)) bool {
	at := "/proc/" + strconv.Itoa(n) + "/fd"
	dir, err := os.Open(at)
	if err != nil {
		return !errors.Is(err, fs.ErrPermission)
	}
	defer dir.Close()
	// A partial list is better than none.
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if to, err := os.Readlink(at + "/" + name); err == nil {
			visit(to)
		}
	}
	return true
}

// mostSockets finds the process that has the most sockets and pipes open.
func mostSockets(all []int, other int) int {
	most, found := 0, other
	for _, n := range all {
		count := 0
		seeable := links(n, func(to string) {
			if strings.HasPrefix(to, "socket:") || strings.HasPrefix(to, "pipe:") {
				count++
			}
		})
		if !seeable {
			count = int(countDescriptors([]int{n}))
		}
		if count > most {
			most, found = count, n
		}
	}
	return found
}

// queues adds up the data queued in this network's connections. The kernel's overhead is about the same again.
func queues() (sum int64) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(b) {
			// number, local and remote address, state, tx:rx
			f := bytes.Fields(line)
			if len(f) < 5 {
				continue
			}
			tx, rx, _ := bytes.Cut(f[4], []byte(":"))
			sum += 2 * int64(hex(tx)+hex(rx))
		}
	}
	return sum
}
