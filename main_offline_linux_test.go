package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// inside is set in a test that runs in a network of its own.
const inside = "FAWN_TEST_OFFLINE"

// TestNothingLeavesANetworkOfItsOwn starts the program where there is nothing but the loopback, with a
// route to everywhere that leads nowhere and is listened to. It chats, takes a file, shows one and
// its pages. Not one packet is for another address, and none asks for a name.
func TestNothingLeavesANetworkOfItsOwn(t *testing.T) {
	if os.Getenv(inside) == "" {
		again(t)
		return
	}
	out, err := listenToAll()
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, []string{"PATH=" + os.Getenv("PATH")}, "--data", openDir(t), "--config", configured(t))
	workOffline(t, s)
	if code, _ := s.end(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if seen := out.packets(t); len(seen) > 0 {
		t.Errorf("%d packets for elsewhere:\n%s", len(seen), strings.Join(seen, "\n"))
	}
	if n := unroutable(t); n != 0 {
		t.Errorf("%d attempts to reach an IPv6 address", n)
	}

	// It would have been noticed: a connection, a name, and IPv6.
	for what, at := range map[string]string{"a connection": "198.51.100.7:443", "a name": "127.0.0.53:53"} {
		before := len(out.packets(t))
		network := map[bool]string{true: "udp", false: "tcp"}[strings.HasSuffix(at, ":53")]
		noticed(t, what, network, at, func() bool { return len(out.packets(t)) > before })
	}
	noticed(t, "IPv6", "tcp", "[2001:db8::1]:443", func() bool { return unroutable(t) > 0 })
}

// noticed tries to reach an address until that is noticed: what is tried may be over before it has begun.
func noticed(t *testing.T, what, network, at string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatalf("%s is not noticed: this test proves nothing", what)
		}
		if c, err := net.DialTimeout(network, at, 200*time.Millisecond); err == nil {
			_, _ = c.Write([]byte("x"))
			c.Close()
		}
	}
}

// again runs the calling test in a network of its own.
func again(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	b, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		if os.Getenv("FAWN_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip("this host allows no namespaces: ", err)
	}
	if err != nil || !bytes.Contains(b, []byte("--- PASS")) {
		t.Errorf("%v\n%s", err, b)
	}
}

// workOffline does what people do in a day.
func workOffline(t *testing.T, s *server) {
	t.Helper()
	notes, kind := form(t, "notes.html", `<img src="http://198.51.100.7/x.png">`)
	visit(t, s, "POST", "/api/threads/t1/uploads", kind, notes.String())
	const turns = `{"tool_calls":[{"name":"bash","args":{"description":"look","command":"ls"}}]},
		{"tool_calls":[{"name":"write_file","args":{"description":"write","path":"/mnt/user-data/outputs/a.md","content":"![x](http://198.51.100.7/x.png)"}}]},
		{"tool_calls":[{"name":"present_files","args":{"filepaths":["/mnt/user-data/outputs/a.md"]}}]},{"text":"See http://198.51.100.7/"}`
	all := follow(t, s, "t1", `SCRIPT{"turns":[`+turns+`]}`, "event: end", 1)()
	if !strings.Contains(all, "198.51.100.7") {
		t.Errorf("the chat: %s", all)
	}
	for _, path := range []string{"uploads/notes.html", "outputs/a.md"} {
		got := visit(t, s, "GET", "/api/threads/t1/artifacts/mnt/user-data/"+path, "", "")
		if !strings.Contains(got, "198.51.100.7") {
			t.Errorf("%s: %s", path, got)
		}
	}
	asset := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`)
	assets := map[string]bool{}
	for _, path := range []string{"/workspace/chats/new", "/workspace/chats/t1", "/workspace/chats",
		"/workspace/settings/about", "/workspace/settings/models", "/workspace/settings/tools", "/workspace/settings/mcp", "/workspace/agents",
		"/workspace/skills"} {
		page := visit(t, s, "GET", path, "", "")
		for _, found := range asset.FindAllStringSubmatch(page, -1) {
			assets[found[1]] = assets[found[1]] || strings.HasPrefix(found[1], "/assets/")
		}
	}
	n := 0
	for path, is := range assets {
		if is {
			n++
			visit(t, s, "GET", path, "", "")
		}
	}
	if n < 3 {
		t.Errorf("only %d assets: %v", n, assets)
	}
	visit(t, s, "GET", "/health", "", "")
}

// visit is the body of a good answer, whose policy lets a browser ask nobody else.
func visit(t *testing.T, s *server, method, path, kind, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "text/html, */*")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %v %s", method, path, res.StatusCode, err, b)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		policy := res.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") && !strings.Contains(policy, "default-src 'self'") ||
			strings.Contains(policy, "http:") || strings.Contains(policy, "https:") {
			t.Errorf("%s lets a browser ask others: %q", path, policy)
		}
	}
	return string(b)
}

// unroutable counts what was to go to IPv6 addresses to which no route leads.
func unroutable(t *testing.T) (n int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/net/snmp6")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Ip6OutNoRoutes\s+(\d+)`).FindSubmatch(b)
	if found == nil {
		t.Fatal("IPv6 is not counted")
	}
	if _, err := fmt.Sscan(string(found[1]), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// recorder notes the packets on the loopback that are for elsewhere, or ask for a name.
type recorder struct {
	fd   int
	mu   sync.Mutex
	seen []string
}

// listenToAll brings the loopback up, leads every address there, and listens.
func listenToAll() (*recorder, error) {
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(control)
	if err := errors.Join(up(control, "lo", netip.Addr{}), up(control, "lo:1", netip.MustParseAddr("192.0.2.1")),
		route(control, "lo")); err != nil {
		return nil, fmt.Errorf("prepare the loopback: %w", err)
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the network's order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, all)
	if err != nil {
		return nil, err
	}
	return &recorder{fd: fd}, ignoreLocal(fd)
}

// ignoreLocal leaves out what goes between loopback addresses and asks for no name: there is much of it.
func ignoreLocal(fd int) error {
	const whole = 64
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40, SkipTrue: 7},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: 0x4f, SkipTrue: 6},
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 4},
		bpf.LoadAbsolute{Off: 12, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 127, SkipTrue: 2},
		bpf.LoadAbsolute{Off: 16, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 127, SkipTrue: 1},
		bpf.RetConstant{Val: whole},
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		return err
	}
	list := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		list[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]})
}

// up gives an interface an address, if there is one, and brings it up.
func up(control int, name string, at netip.Addr) error {
	if at.IsValid() {
		ifr, err := unix.NewIfreq(name)
		if err == nil {
			err = ifr.SetInet4Addr(at.AsSlice())
		}
		if err == nil {
			err = unix.IoctlIfreq(control, unix.SIOCSIFADDR, ifr)
		}
		if err != nil {
			return err
		}
	}
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(control, unix.SIOCSIFFLAGS, ifr)
}

// route leads every address to an interface.
func route(control int, name string) error {
	dev, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	everywhere := [16]byte{unix.AF_INET}
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		everywhere = [16]byte{0, unix.AF_INET}
	}
	r := struct { // struct rtentry
		_                 uintptr
		to, gateway, mask [16]byte
		flags             uint16
		_                 int16
		_                 uintptr
		_                 [2]uint8
		_                 [3]int16
		metric            int16
		dev               *byte
		mtu, window       uintptr
		irtt              uint16
	}{to: everywhere, mask: everywhere, flags: unix.RTF_UP, dev: dev}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(control), unix.SIOCADDRT, uintptr(unsafe.Pointer(&r)))
	if errno != 0 {
		return errno
	}
	return nil
}

// packets are those for elsewhere until now.
func (r *recorder) packets(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	b := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(r.fd, b, 0)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if what := elsewhere(b[:n]); what != "" {
			r.seen = append(r.seen, what)
		}
	}
	stats, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil || stats.Drops > 0 {
		t.Fatalf("packets were missed: %v %+v", err, stats)
	}
	return r.seen
}

// elsewhere describes an IP packet that is not between loopback addresses, or asks for a name.
func elsewhere(p []byte) string {
	const icmp6, udp = 58, 17
	var from, to netip.Addr
	var kind byte
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		from, to, kind = netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20])), p[9]
	case len(p) >= 40 && p[0]>>4 == 6:
		from, to, kind = netip.AddrFrom16([16]byte(p[8:24])), netip.AddrFrom16([16]byte(p[24:40])), p[6]
	default:
		return ""
	}
	if from.IsLoopback() && to.IsLoopback() && kind != udp || kind == icmp6 { // IPv6 looks for neighbours by itself
		return ""
	}
	return fmt.Sprintf("protocol %d from %s to %s", kind, from, to)
}
