package jail

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// inode identifies a file on a disk, as both stat and the list of mappings report it.
type inode struct {
	dev, ino uint64
}

// deleted adds up the bytes of deleted files that processes still hold open: walking folders doesn't find them.
func deleted(all []int) (sum int64) {
	found, memory := map[inode]int64{}, memoryDevices()
	for _, n := range all {
		eachFile(n, func(name string, st *unix.Stat_t) bool {
			if st.Nlink == 0 && onDisk(name) {
				found[inode{st.Dev, st.Ino}] = st.Blocks * 512
			}
			return true
		})
	}
	for _, n := range all {
		deletedMaps(n, found, memory)
	}
	for _, size := range found {
		sum += size
	}
	return sum
}

// eachFile visits the regular files opened by a process, until visit returns false. Hidden ones are skipped.
func eachFile(n int, visit func(name string, st *unix.Stat_t) bool) {
	at := "/proc/" + strconv.Itoa(n) + "/fd"
	dir, err := os.Open(at)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			var st unix.Stat_t
			name = at + "/" + name
			if unix.Stat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && !visit(name, &st) {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// onDisk reports whether a file or folder is on a disk: others are memory, and count there.
func onDisk(name string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(name, &fs) != nil {
		return false
	}
	switch int64(fs.Type) {
	case unix.TMPFS_MAGIC, unix.HUGETLBFS_MAGIC, unix.PROC_SUPER_MAGIC:
		return false
	}
	return true
}

// deletedMaps adds files that are mapped but not open. Their holes cannot be told apart,
// so the length that is mapped counts.
func deletedMaps(n int, found map[inode]int64, memory []uint64) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/maps")
	if err != nil {
		return
	}
	mapped := map[inode]int64{}
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte(" (deleted)\n")) {
			continue
		}
		// from-to rights offset major:minor inode path
		f := bytes.Fields(line)
		if len(f) < 6 || inMemory(string(f[5])) {
			continue
		}
		from, to, _ := bytes.Cut(f[0], []byte("-"))
		major, minor, _ := bytes.Cut(f[3], []byte(":"))
		id := inode{unix.Mkdev(uint32(hex(major)), uint32(hex(minor))), uint64(number(f[4]))}
		if slices.Contains(memory, id.dev) {
			continue
		}
		mapped[id] = max(mapped[id], int64(hex(f[2])+hex(to)-hex(from)))
	}
	for id, size := range mapped {
		if _, known := found[id]; !known {
			found[id] = size
		}
	}
}

// memoryDevices are the devices of in-memory temporary files.
func memoryDevices() (all []uint64) {
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		var st unix.Stat_t
		if !onDisk(dir) && unix.Stat(dir, &st) == nil {
			all = append(all, st.Dev)
		}
	}
	return all
}

// inMemory reports whether a mapped file's name means that it isn't on a disk.
func inMemory(name string) bool {
	return slices.ContainsFunc([]string{"/dev/", "/memfd:", "/SYSV", "/anon_hugepage", "/[aio]"},
		func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
}

func hex(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// blameTime is the time to observe which processes write.
const blameTime = 100 * time.Millisecond

// written returns the bytes that a process and its reaped children caused to be written to disks.
func written(n int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(n) + "/io")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("\nwrite_bytes:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return number(bytes.TrimSpace(line))
}

// groups adds up the bytes written by each running command, keyed by its parent, and by each leftover process directly
// below this one.
func (s *supervisor) groups() (sums map[int]int64, calls map[int]int) {
	t, calls := s.snapshot()
	sums = map[int]int64{}
	for _, n := range t.below(t.self) {
		sums[t.top(n)] += written(n)
	}
	return sums, calls
}

// blame finds the writer to the disk: a running command, by its number, or leftovers, by their topmost process. If no
// writer is seen, any leftover may be it, but no command, since that may have just begun.
func (s *supervisor) blame() (call int, left []int) {
	before, _ := s.groups()
	time.Sleep(blameTime)
	after, calls := s.groups()
	var most int64
	for n, sum := range after {
		most = max(most, sum-before[n])
	}
	for n, sum := range after {
		id, running := calls[n]
		switch wrote := sum - before[n]; {
		case running && wrote > 0 && wrote == most:
			call = id
		case !running && wrote*4 >= most:
			left = append(left, n)
		}
	}
	return call, left
}
