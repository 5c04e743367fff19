package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Virtual paths: the same inside the sandbox, in tools, in the API and the UI.
const (
	// UserData is the root of everything a thread may read and write.
	UserData = "/mnt/user-data"
	// Workspace is the working folder of the agent; relative paths start here.
	Workspace = UserData + "/workspace"
	// Uploads holds the user's files.
	Uploads = UserData + "/uploads"
	// Outputs holds the agent's results.
	Outputs = UserData + "/outputs"
	// Project holds the files of the thread's project, read-only unless the project allows writing.
	Project = UserData + "/project"
	// Skills is the read-only root of skill packages.
	Skills = "/mnt/skills"
)

const (
	// MaxPath is the longest path, in bytes.
	MaxPath      = 4096
	maxNameBytes = 255
	maxLinks     = 40
)

// Sentinels of this package. Files methods also return errors that match
// fs.ErrNotExist, fs.ErrExist and fs.ErrPermission.
var (
	// ErrThread means that a thread id doesn't match [A-Za-z0-9_-]{1,64}.
	ErrThread = errors.New("thread ids are 1 to 64 letters, digits, dashes and underscores")
	// ErrPath means that a path can't name anything here: it is malformed, or under another root.
	ErrPath = errors.New("invalid path")
	// ErrEscape means that a path or link leads out of the allowed folders.
	ErrEscape = errors.New("path leaves the allowed folders")
	// ErrReadOnly means that the root is read-only.
	ErrReadOnly = errors.New("read-only")
	// ErrNotRegular means that a folder, pipe, socket or device was found in place of a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotDir is anything else where a folder is needed.
	ErrNotDir = errors.New("not a directory")
	// ErrTooLarge means that a file exceeds the caller's limit.
	ErrTooLarge = errors.New("file too large")
	// ErrLimit ends a walk that reached its number of entries or its time.
	ErrLimit = errors.New("search limit reached")
	// ErrQuota means that a thread's files use up its quota.
	ErrQuota = errors.New("thread storage is full")
	// ErrGlob means that a pattern for names is invalid.
	ErrGlob = errors.New("invalid glob pattern")
	// ErrRegexp means that a regular expression is invalid.
	ErrRegexp = errors.New("invalid regular expression")
)

// refusal is a sentence for people and models that matches a sentinel.
type refusal struct {
	kind   error
	reason string
}

func (r *refusal) Error() string { return r.reason }
func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, reason string) error { return &refusal{kind, reason} }

// Clean turns p into the one virtual path that names the same thing: absolute, without "." and "..", without a trailing
// slash. A relative p starts at [Workspace]. ".." is resolved lexically and may move within [UserData]. It returns
// ErrPath for a path that can't name anything here and ErrEscape for one that leaves the folder. Characters are
// composed (NFC), as on all systems but macOS. The disk isn't accessed: links are checked when the path is used.
func Clean(p string) (string, error) {
	if err := wellFormed(p); err != nil {
		return "", err
	}
	p = norm.NFC.String(p)
	rooted := p
	if !path.IsAbs(p) {
		rooted = Workspace + "/" + p
	}
	clean := path.Clean(rooted)
	if inside(clean) {
		return clean, nil
	}
	if Under(UserData, rooted) && clean != UserData && !Under(UserData, clean) {
		return "", refuse(ErrEscape, "Access denied: path traversal detected: only paths under /mnt/user-data/ and /mnt/skills/ are allowed")
	}
	if clean == UserData || Under(UserData, clean) {
		return "", refuse(ErrPath, "the folders of /mnt/user-data are workspace, uploads and outputs; name one of them")
	}
	return "", refuse(ErrPath, "only paths under /mnt/user-data/ and /mnt/skills/ are allowed")
}

func wellFormed(p string) error {
	switch {
	case p == "":
		return refuse(ErrPath, "the path is empty")
	case len(p) > MaxPath:
		return refuse(ErrPath, "the path is longer than 4096 bytes")
	case !utf8.ValidString(p):
		return refuse(ErrPath, "the path is not valid UTF-8")
	case strings.IndexByte(p, 0) >= 0:
		return refuse(ErrPath, "the path contains a NUL byte")
	}
	for name := range strings.SplitSeq(p, "/") {
		if len(name) > maxNameBytes {
			return refuse(ErrPath, "a name in the path is longer than 255 bytes")
		}
	}
	return nil
}

// inside reports whether a clean path is in a folder that Files serves.
func inside(clean string) bool {
	for _, root := range []string{Workspace, Uploads, Outputs, Project, Skills} {
		if clean == root || Under(root, clean) {
			return true
		}
	}
	return false
}

// Under compares whole names: /mnt/user-data-evil is not under /mnt/user-data.
func Under(root, p string) bool {
	return len(p) > len(root) && p[len(root)] == '/' && p[:len(root)] == root
}

// OpError names the operation and the virtual path. The system's error is kept without its path, which belongs to the
// host.
func OpError(op, virtual string, err error) error {
	for {
		var (
			pe *fs.PathError
			le *os.LinkError
			se *os.SyscallError
		)
		switch {
		case led(err):
			return refuse(ErrEscape, "Access denied: a symbolic link leads out of the allowed folders, or changes while it is followed")
		case errors.Is(err, syscall.EINVAL) && (op == "open" || op == "stat" || op == "read"):
			// The link was replaced meanwhile.
			return &failure{op, virtual, fs.ErrNotExist}
		case errors.As(err, &pe):
			err = pe.Err
		case errors.As(err, &le):
			err = le.Err
		case errors.As(err, &se):
			err = se.Err
		default:
			return &failure{op, virtual, err}
		}
	}
}

// led reports whether os.Root refused to go where a link leads, for which it has no error with a name. Links were
// followed before, so this one was put there meanwhile.
func led(err error) bool {
	var pe *fs.PathError
	if errors.Is(err, syscall.ELOOP) {
		return true
	}
	if !errors.As(err, &pe) || errors.As(err, new(syscall.Errno)) {
		return false
	}
	for _, known := range []error{fs.ErrClosed, fs.ErrExist, fs.ErrInvalid, fs.ErrNotExist, fs.ErrPermission,
		os.ErrDeadlineExceeded, os.ErrNoDeadline} {
		if errors.Is(err, known) {
			return false
		}
	}
	return true
}

type failure struct {
	op, path string
	err      error
}

func (f *failure) Error() string { return f.op + " " + f.path + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
