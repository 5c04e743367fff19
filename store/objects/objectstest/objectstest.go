// Package objectstest starts a store of objects for tests: versitygw, which speaks S3 over a folder.
package objectstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/store/objects"
)

const (
	// Key and Secret are the credentials of every store started by this package.
	Key, Secret = "fawn-test", "fawn-test-secret"
	bucketName  = "files"
)

// Server is a store that a test may stop and start again.
type Server struct {
	tb       testing.TB
	bin, dir string
	addr     string
	mu       sync.Mutex
	cmd      *exec.Cmd // guarded by mu
}

// Start starts a store with one empty bucket, which ends with the test. Without versitygw it skips the test, or
// fails it with FAWN_NIGHTLY=1.
func Start(tb testing.TB) *Server {
	tb.Helper()
	bin, err := program()
	if err != nil {
		if os.Getenv("FAWN_NIGHTLY") == "1" {
			tb.Fatal("versitygw is not installed: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0")
		}
		tb.Skip("versitygw is not installed")
	}
	s := &Server{tb: tb, bin: bin, dir: tb.TempDir(), addr: freeAddr(tb)}
	if err := os.Mkdir(filepath.Join(s.dir, bucketName), 0o700); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Stop)
	s.Again()
	return s
}

func program() (string, error) {
	if bin, err := exec.LookPath("versitygw"); err == nil {
		return bin, nil
	}
	path, err := exec.Command("go", "env", "GOPATH").Output()
	if err != nil {
		return "", err
	}
	return exec.LookPath(filepath.Join(string(path[:len(path)-1]), "bin", "versitygw"))
}

// freeAddr returns an address where no other process takes the port before the server starts, or while it is down.
func freeAddr(tb testing.TB) string {
	tb.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		pid := os.Getpid()
		host = fmt.Sprintf("127.%d.%d.%d", 192+pid>>16&31, pid>>8&255, pid&255)
	}
	for {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			tb.Fatal(err)
		}
		addr := l.Addr().String()
		l.Close()
		if _, taken := given.LoadOrStore(addr, true); !taken {
			return addr
		}
	}
}

// given are the addresses used by servers of this process, including stopped ones.
var given sync.Map

// Endpoint returns its address.
func (s *Server) Endpoint() string { return "http://" + s.addr }

// Config returns the configuration of its bucket.
func (s *Server) Config() objects.Config {
	return objects.Config{Bucket: bucketName, Prefix: "some/prefix", Endpoint: s.Endpoint(), PathStyle: true, Key: Key,
		Secret: Secret}
}

// URL returns the address of its bucket, for a configuration.
func (s *Server) URL() string { return "s3://" + bucketName + "/some/prefix" }

// Objects counts the objects in the bucket.
func (s *Server) Objects() int { return len(s.Names()) }

// Names returns the objects in the bucket.
func (s *Server) Names() (names []string) {
	root := filepath.Join(s.dir, bucketName, "some", "prefix")
	err := filepath.WalkDir(root, func(at string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(at, root+string(filepath.Separator))))
		}
		return nil
	})
	if err != nil {
		s.tb.Error(err)
	}
	return names
}

// Again restarts it after [Server.Stop] with its content.
func (s *Server) Again() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.Command(s.bin, "--access", Key, "--secret", Secret, "--port", s.addr, "--quiet", "posix", "--nometa",
		s.dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.cmd = cmd
	b, err := objects.Open(s.Config())
	if err != nil {
		s.tb.Fatal(err)
	}
	defer b.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := b.Get(ctx, "nothing", 0, -1)
		cancel()
		if err != nil && errors.Is(err, objects.ErrNotFound) {
			return
		}
		if time.Now().After(end) {
			s.tb.Fatalf("versitygw does not answer: %v", err)
		}
	}
}

// Stop stops it at once.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill() //nolint:errcheck // it may have ended
	s.cmd.Wait()         //nolint:errcheck // it was killed
	s.cmd = nil
}
