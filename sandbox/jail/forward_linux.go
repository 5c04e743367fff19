package jail

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxForwards are the connections that are passed on at one time.
const maxForwards = 64

// forwardProxy listens at the address where programs expect the proxy and passes connections to the server, whose
// socket has no address that programs could use.
func forwardProxy() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 128); err != nil {
		return err
	}
	listener, err := os.NewFile(uintptr(fd), "proxy").SyscallConn()
	if err != nil {
		return err
	}
	slots := make(chan struct{}, maxForwards)
	go func() {
		for {
			conn := -1
			err := listener.Read(func(fd uintptr) bool {
				var err error
				conn, _, err = unix.Accept4(int(fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
				return err != unix.EAGAIN
			})
			if err != nil {
				return
			}
			if conn < 0 {
				// For instance out of descriptors: others may be freed soon.
				time.Sleep(10 * time.Millisecond)
				continue
			}
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				forward(os.NewFile(uintptr(conn), "connection"))
			}()
		}
	}()
	return nil
}

func forward(in *os.File) {
	defer in.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return
	}
	out := os.NewFile(uintptr(fd), "server")
	defer out.Close()
	// A local connection succeeds at once or is refused.
	if unix.Connect(fd, &unix.SockaddrUnix{Name: EngineProxy}) != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		passOn(out, in)
	}()
	passOn(in, out)
	<-done
}

// passOn copies until the end and passes that on too. A connection that breaks
// is ended both ways, so that the other copy does not wait for ever.
func passOn(to, from *os.File) {
	_, err := io.Copy(to, from)
	how := unix.SHUT_WR
	if err != nil {
		how = unix.SHUT_RDWR
	}
	for _, f := range []*os.File{to, from} {
		if f == from && err == nil {
			break
		}
		if c, cerr := f.SyscallConn(); cerr == nil {
			_ = c.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), how) })
		}
	}
}
