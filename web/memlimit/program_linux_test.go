package memlimit

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestProgramPagesAreLetGo(t *testing.T) {
	bringProgramIn(t)
	before := rssOfFiles(t)
	dropProgram()
	if after := rssOfFiles(t); after > before*3/4 {
		t.Errorf("%d kB of files in memory, %d before: the program's pages stayed", after, before)
	}
}

// TestProgramPagesThatCameInLaterAreLetGo: what is done at rest must not bring the program in for good.
func TestProgramPagesThatCameInLaterAreLetGo(t *testing.T) {
	dropProgram()
	files := fileBytes()
	if again := dropGrown(files); again != files {
		t.Errorf("dropped at %d bytes, although nothing had come in since %d", again, files)
	}
	bringProgramIn(t)
	before := rssOfFiles(t)
	if again := dropGrown(files); again >= uint64(before)<<10*3/4 {
		t.Errorf("%d bytes of files are in memory, %d kB before: the program's pages stayed", again, before)
	}
}

// bringProgramIn brings all of the program into memory, by reading it at the addresses it runs at:
// how much of it the tests before have used depends on their order.
func bringProgramIn(t *testing.T) {
	t.Helper()
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	defer mem.Close()
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		t.Skip("this kernel does not tell where the program is: ", err)
	}
	if len(program()) == 0 {
		t.Fatal("the program was not found in memory")
	}
	for _, m := range program() {
		if _, err := io.Copy(io.Discard, io.NewSectionReader(mem, int64(m.start), int64(m.size))); err != nil {
			t.Fatal(err)
		}
	}
}

// rssOfFiles is RssFile of this process in kB.
func rssOfFiles(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "RssFile:" {
			n, err := strconv.Atoi(words[1])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("this kernel does not count pages of files")
	return 0
}

func TestOnlyCleanMappingsOfTheProgram(t *testing.T) {
	const smaps = `00400000-00401000 r-xp 00000000 fe:00 12 /bin/fawn
Rss:                   4 kB
Anonymous:             0 kB
VmFlags: rd ex
00401000-00403000 r--p 00001000 fe:00 12 /bin/fawn
Anonymous:             4 kB
00403000-00404000 rw-p 00003000 fe:00 12 /bin/fawn
Anonymous:             0 kB
00404000-00406000 r--p 00004000 fe:00 12 /bin/fawn
Anonymous:             0 kB
00500000-00501000 r-xp 00000000 fe:00 13 /lib/other.so
Anonymous:             0 kB
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x1000}, {0x404000, 0x2000}}
	if got := cleanMappings(strings.NewReader(smaps), "/bin/fawn"); !slices.Equal(got, want) {
		t.Errorf("mappings: %x, want %x", got, want)
	}
}
