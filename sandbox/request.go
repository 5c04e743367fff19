package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fawn/sandbox/files"
)

const (
	maxCommandBytes = 8 << 20
	maxStdinBytes   = 64 << 20
	// Linux refuses a single variable or argument of 128 KiB, and all together of
	// a quarter of the stack.
	maxValueBytes = 120 << 10
	maxEnvBytes   = 1 << 20
)

// Validate returns the error of a request, worded for the model.
func (r ExecReq) Validate() error {
	refuse := func(format string, a ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrRequest}, a...)...)
	}
	switch {
	case strings.TrimSpace(r.Command) == "":
		return refuse("the command is empty")
	case len(r.Command) > maxCommandBytes:
		return refuse("the command is longer than %d bytes", maxCommandBytes)
	case !plain(r.Command):
		return refuse("the command contains a NUL byte or is not valid UTF-8")
	case len(r.Stdin) > maxStdinBytes:
		return refuse("the input is longer than %d bytes", maxStdinBytes)
	case r.Cwd != "" && (!path.IsAbs(r.Cwd) || !plain(r.Cwd) || len(r.Cwd) > files.MaxPath):
		return refuse("the working folder is not an absolute path")
	}
	total := 0
	for _, a := range r.Args {
		if !plain(a) || len(a) > maxValueBytes {
			return refuse("an argument is too long, contains a NUL byte or is not valid UTF-8")
		}
		total += len(a)
	}
	for _, vars := range []map[string]string{r.Env, r.Secrets} {
		for name, value := range vars {
			if err := ValidVariable(name); err != nil {
				return refuse("%w", err)
			}
			if !plain(value) || len(value) > maxValueBytes {
				return refuse("the value of %s is too long, contains a NUL byte or is not valid UTF-8", name)
			}
			total += len(name) + len(value)
		}
	}
	if total > maxEnvBytes {
		return refuse("arguments and variables together are longer than %d bytes", maxEnvBytes)
	}
	return nil
}

func plain(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// ValidVariable returns the reason why commands can't have a variable with that name, or nil. It rejects invalid names,
// and variables that make every program load or run something else.
func ValidVariable(name string) error {
	for i, c := range []byte(name) {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return fmt.Errorf("%q is not the name of a variable", name)
		}
	}
	if name == "" {
		return fmt.Errorf("%q is not the name of a variable", name)
	}
	if strings.HasPrefix(name, "LD_") ||
		slices.Contains([]string{"BASH_ENV", "ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "GLIBC_TUNABLES"}, name) {
		return fmt.Errorf("the variable %s is not allowed", name)
	}
	return nil
}

// ValidateApart returns the reason why features limited to namespaces aren't available.
func (r ExecReq) ValidateApart(provider string) error {
	if provider != ProviderNamespace {
		return fmt.Errorf("%w: a sandbox of the kind %q doesn't support streams or policies of single commands",
			ErrRequest, provider)
	}
	if r.Apart == nil {
		return nil
	}
	if r.Apart.Lifetime != LifetimeCall {
		return fmt.Errorf("%w: a policy for one command must have the lifetime call", ErrRequest)
	}
	return r.Apart.Validate()
}

// CloseEnds closes the request's streams; it is idempotent.
func (r ExecReq) CloseEnds() {
	for _, f := range []*os.File{r.In, r.Out} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Record is the audit entry of one command. It holds names of variables, never values.
type Record struct {
	Time     time.Time
	Thread   string
	Origin   Origin
	Provider string
	Layers   []string
	// SHA256 is the hex digest of the whole command, Head its first 500 characters
	// with the values of secrets masked.
	SHA256, Head string
	Cwd          string
	// Env are the names of the variables of the request, sorted.
	Env    []string
	Exit   int
	Signal string
	Took   time.Duration
	Bytes  int64
	// Events of the command and its sandbox.
	Truncated, TimedOut, Cancelled, OOM, Quota, Restarted bool
	Background                                            int
	// Error is set when nothing ran.
	Error string
}
