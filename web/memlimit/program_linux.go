package memlimit

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// dropProgram removes the program file's pages from this process's memory. Starting touches most of a large binary and
// working a third of it; needed pages return from the page cache.
func dropProgram() {
	if traced() {
		return
	}
	for _, m := range program() {
		unix.RawSyscall(unix.SYS_MADVISE, m.start, m.size, unix.MADV_DONTNEED) // nothing is lost when refused
	}
}

// program locates the unmodified mapping of the program's file. It stays valid without a debugger; checking again would
// make the system count all memory of the process, under load every few seconds.
var program = sync.OnceValue(func() []mapping {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer f.Close()
	return cleanMappings(f, exe)
})

// traced reports whether a debugger is attached, which may have written breakpoints into the program.
func traced() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err != nil || !strings.Contains(string(status), "\nTracerPid:\t0\n")
}

// fileBytes returns the size of file pages in this process's memory, 0 if unknown.
func fileBytes() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	words := strings.Fields(string(b))
	if err != nil || len(words) < 3 {
		return 0
	}
	pages, err := strconv.ParseUint(words[2], 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

type mapping struct{ start, size uintptr }

// cleanMappings returns where a file is mapped without the right to write and without a page
// that differs from the file, of a listing as in /proc/PID/smaps. A page that differs
// (a breakpoint, an address the loader filled in) would be lost with its mapping.
func cleanMappings(smaps io.Reader, file string) (list []mapping) {
	var m mapping
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 0:
		case !strings.HasSuffix(words[0], ":"): // range, rights, offset, device, inode, path
			m = mapping{}
			if len(words) == 6 && words[5] == file && !strings.Contains(words[1], "w") {
				m = parseRange(words[0])
			}
		case m.size > 0 && words[0] == "Anonymous:" && len(words) > 1 && words[1] == "0":
			list = append(list, m)
		}
	}
	return list
}

// parseRange parses "400000-19d1000"; an invalid range has no size.
func parseRange(s string) mapping {
	from, to, _ := strings.Cut(s, "-")
	a, errFrom := strconv.ParseUint(from, 16, 64)
	b, errTo := strconv.ParseUint(to, 16, 64)
	if errFrom != nil || errTo != nil || b <= a {
		return mapping{}
	}
	return mapping{start: uintptr(a), size: uintptr(b - a)}
}
