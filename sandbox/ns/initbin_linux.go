package ns

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/initbin"
	"fawn/sandbox/jail"
)

// reexec remembers that this program answers to the roles of package jail, and
// so may be started in place of the small one. It is set once, in main.
var reexec atomic.Bool

// Reexec must be the first statement of main. It takes over the process and
// ends it if the server started its own program as a part of a sandbox, and
// costs nothing otherwise.
func Reexec() {
	jail.Main()
	reexec.Store(true)
}

// installInit writes the program that sandboxes start to a folder and returns its path. If it can't run, it returns the
// path of this program instead, with the reason. own is a file to use instead of the embedded one.
func installInit(ctx context.Context, dir, own string) (path, why string, err error) {
	if own != "" {
		path, err = writeOwn(dir, own)
	} else {
		path, err = writeEmbedded(dir)
	}
	if err == nil {
		err = checkInit(ctx, path)
	}
	switch {
	case err == nil:
		return path, "", nil
	case errors.Is(err, fs.ErrNotExist):
		why = "the build did not embed it"
	default:
		why = err.Error()
	}
	if !reexec.Load() {
		return "", why, fmt.Errorf("%w: %s, and this program does not call ns.Reexec", sandbox.ErrConfig, why)
	}
	if path, err = os.Executable(); err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		err = checkInit(ctx, path)
	}
	if err != nil {
		return "", why, fmt.Errorf("use own program in a sandbox: %w", err)
	}
	return path, why, nil
}

// writeOwn keeps a program of the file system under the digest of its content.
func writeOwn(dir, file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return writeInit(dir, sum[:], int64(len(b)), func() ([]byte, error) { return b, nil })
}

// writeEmbedded keeps the program of this build. It is named after the build, not its content:
// each start would read megabytes of it.
func writeEmbedded(dir string) (string, error) {
	size, err := initbin.Size()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %s\n", jail.Version(), size, runtime.GOARCH)
	if build, ok := debug.ReadBuildInfo(); ok {
		io.WriteString(h, build.String())
	}
	return writeInit(dir, h.Sum(nil), size, initbin.Read)
}

// writeInit stores a program under its digest, which is read only if it is missing, and removes other versions. It
// isn't readable: Linux then hides the memory of its processes from the start.
func writeInit(dir string, digest []byte, size int64, read func() ([]byte, error)) (string, error) {
	name := "sbxinit-" + hex.EncodeToString(digest[:8])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sbxinit-") && e.Name() != name && !strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
	}
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err == nil && info.Mode() == 0o111 && info.Size() == size {
		return path, nil
	}
	content, err := read()
	if err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(dir, "sbxinit-*.tmp")
	if err != nil {
		return "", err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Chmod(0o111), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(temp.Name()))
	}
	return path, nil
}

// checkInit runs the program once. That detects a noexec folder, a wrong architecture, and a build from other sources.
func checkInit(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var out bytes.Buffer
	for {
		cmd := exec.CommandContext(ctx, path)
		cmd.Args, cmd.Env, cmd.Stdout = []string{jail.RoleVersion}, []string{}, &out
		err := cmd.Run()
		if err == nil {
			break
		}
		// Another thread that is starting a process may still hold the new file open
		// for writing.
		if !errors.Is(err, unix.ETXTBSY) || ctx.Err() != nil {
			return fmt.Errorf("start it: %w", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got, want := out.String(), jail.Version(); got != want {
		return fmt.Errorf("it was built from other sources (%.16s, the server from %s)", got, want)
	}
	return nil
}
