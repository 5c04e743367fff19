package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"fawn/sandbox"
)

// jobPolicy returns the policy of a job.
func jobPolicy(binds []sandbox.Bind) sandbox.Policy {
	p := sandbox.DefaultPolicy()
	p.Lifetime, p.Network, p.Timeout = sandbox.LifetimeCall, sandbox.NetworkNone, convertTime
	p.Limits.Memory, p.Limits.Disk, p.Limits.Pids = convertMemory, convertDisk, 64
	p.Limits.FileSize, p.Limits.CPUTime = convertDisk, 2*convertTime
	p.Binds = binds
	return p
}

// seat locates the program and its cache for a job.
type seat struct {
	program, cache string
	binds          []sandbox.Bind
}

// seat returns a job's seat in a kind of sandbox. A sandbox without namespaces has no separate paths, and may run as a
// user without access to the program; it uses a copy of it next to the data.
func (c *Converter) seat(jail sandbox.Provider, job string) (s seat, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	s.program, s.cache = jobSelf, jobCache
	cache := c.cache
	if jail.Name() == sandbox.ProviderLandlock {
		if self, err = c.program.path(self); err != nil {
			return s, fmt.Errorf("copy the program: %w", err)
		}
		// A path relative to the starting folder isn't changed.
		if s.program, err = c.from(job, self); err != nil {
			return s, err
		}
		if c.warm {
			if s.cache, err = c.from(job, cache); err != nil {
				return s, err
			}
		}
	}
	s.binds = []sandbox.Bind{{Dir: self, Path: jobSelf, ReadOnly: true}}
	if c.warm {
		s.binds = append(s.binds, sandbox.Bind{Dir: cache, Path: jobCache, ReadOnly: true})
	}
	return s, nil
}

// from returns the path of a file relative to the folder in which a job starts.
func (c *Converter) from(job, file string) (string, error) {
	start, err := filepath.EvalSymlinks(filepath.Join(c.dirs.Root, "threads", job, "user-data", "workspace"))
	if err == nil {
		file, err = filepath.EvalSymlinks(file)
	}
	if err != nil {
		return "", err
	}
	return filepath.Rel(start, file)
}

// copied is a copy of the program that all users may start, made when it is needed.
type copied struct {
	dir  string
	once sync.Once
	err  error // guarded by once
}

func (c *copied) path(self string) (string, error) {
	at := filepath.Join(c.dir, "fawn")
	c.once.Do(func() {
		// An earlier server may have been another version.
		if c.err = os.RemoveAll(c.dir); c.err == nil {
			c.err = os.MkdirAll(c.dir, 0o755)
		}
		if c.err == nil {
			c.err = copyProgram(self, at)
		}
		c.err = errors.Join(c.err, os.Chmod(c.dir, 0o755))
	})
	return at, c.err
}

func copyProgram(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close(), os.Chmod(to, 0o755))
}
