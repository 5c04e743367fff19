package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"fawn/store/folder"
)

const (
	logHead   = 32         // bytes of the header of a write-ahead log
	frameHead = 24         // and of each page in it
	logMagic  = 0x377f0682 // its first bytes; the last bit selects the byte order of checksums
	maxLost   = 1000       // limit of folders searched for in a database
)

// errLog means that commits were in a missing or incomplete log.
var errLog = errors.New("its last writes are lost")

// CheckLog checks the log of a process that didn't close its database. If it is missing or damaged, the database falls
// back to the content of its file, which is reported; it is refused if threads with files would be lost.
func CheckLog(ctx context.Context, dir string, log *slog.Logger) error {
	problem, torn, err := logProblem(filepath.Join(dir, folder.FileName+"-wal"))
	if err != nil || problem == "" {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, folder.FileName))
	if err != nil {
		return nil // opening it reports the error
	}
	var lost []string
	if !torn {
		if lost, err = lostThreads(ctx, dir); err != nil {
			return damaged(dir, translate(err))
		}
	}
	if len(lost) > 0 {
		return damaged(dir, fmt.Errorf("%w: %s, and the server before was not stopped in order; %d threads that have "+
			"folders, such as %s, are not in it. To go on with what is left, remove the file %s", errLog, problem,
			len(lost), lost[0], filepath.Join(dir, "lock")))
	}
	log.Warn("the database may lack its last writes", "problem", problem, "path", filepath.Join(dir, folder.FileName),
		"kept_until", info.ModTime())
	return nil
}

// logProblem describes the damage of a log, "" for none. torn means that a log is intact up to some commit after a power
// failure, from which the database recovers.
func logProblem(path string) (problem string, torn bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "its log " + filepath.Base(path) + " is missing", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	var head [logHead]byte
	switch _, err := io.ReadFull(f, head[:]); {
	case errors.Is(err, io.EOF): // it was copied completely, but is cut off
		return "", false, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "its log " + filepath.Base(path) + " is cut off", false, nil
	case err != nil:
		return "", false, err
	}
	damage := "its log " + filepath.Base(path) + " is damaged"
	magic, size := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[8:])
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	sum := logSum{order: order}
	sum.add(head[:24])
	if magic&^1 != logMagic || size < 512 || size > 1<<16 || size&(size-1) != 0 || !sum.is(head[24:]) {
		return damage, false, nil
	}
	// Frames of this log end at an incomplete one. None may follow it.
	frame, whole := make([]byte, frameHead+size), true
	for {
		switch _, err := io.ReadFull(f, frame); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return "", false, nil
		case err != nil:
			return "", false, err
		}
		own := string(frame[8:16]) == string(head[16:24])
		if whole {
			next := sum
			next.add(frame[:8])
			next.add(frame[frameHead:])
			if whole = own && next.is(frame[16:]); whole {
				sum = next
				continue
			}
			if !own { // the rest belongs to an earlier log
				return "", false, nil
			}
			continue
		}
		if own {
			return damage, true, nil
		}
	}
}

// logSum is the sum of all that a log holds so far.
type logSum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *logSum) add(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		s.a += s.order.Uint32(p) + s.b
		s.b += s.order.Uint32(p[4:]) + s.a
	}
}

// is compares it with the sum that is written down.
func (s *logSum) is(p []byte) bool {
	return binary.BigEndian.Uint32(p) == s.a && binary.BigEndian.Uint32(p[4:]) == s.b
}

// lostThreads returns threads that have folders but aren't in the database, which is left unchanged.
func lostThreads(ctx context.Context, dir string) (lost []string, err error) {
	f, err := os.Open(filepath.Join(dir, "threads"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	access := "mode=ro"
	if _, err := os.Stat(filepath.Join(dir, folder.FileName+"-wal")); errors.Is(err, fs.ErrNotExist) {
		access = "immutable=1" // otherwise an empty log would be created
	}
	db, err := OpenPool(dir, access, "query_only(1)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var made int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'thread'`).Scan(&made); err != nil {
		return nil, err
	}
	for seen := 0; seen < maxLost; {
		names, err := f.Readdirnames(64)
		for _, name := range names {
			if seen++; strings.HasPrefix(name, probePrefix) || strings.HasPrefix(name, "job-") {
				continue // created to test the sandbox, or for one conversion
			}
			there := 0
			if made > 0 {
				if err := db.QueryRowContext(ctx, `SELECT count(*) FROM thread WHERE id = ?`, name).Scan(&there); err != nil {
					return nil, err
				}
			}
			if there == 0 {
				lost = append(lost, name)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return lost, nil
}
