package render

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Link is the line to a browser that shows more than one page. Its owner closes it.
type Link struct{ wire }

// local is a connection to a browser started here, in its own folder.
type local interface{ folder() string }

// Open starts a browser with extra flags, or connects to the external one. Without one the error wraps [ErrNone].
func (b *Browser) Open(ctx context.Context, flags ...string) (*Link, error) {
	where, err := b.find()
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, where, cmp.Or(b.Memory, maxMemory), flags...)
	if err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	return &Link{w}, nil
}

// Send writes one message of the DevTools protocol.
func (l *Link) Send(ctx context.Context, message []byte) error { return l.send(ctx, message) }

// Receive reads the next message. It fails once the browser has ended.
func (l *Link) Receive() ([]byte, error) { return l.receive() }

// Close ends a browser started here with all its processes and removes its profile. It only disconnects from an
// external one.
func (l *Link) Close() error { return l.close() }

// Exceeded reports whether the browser was ended for the memory that it took.
func (l *Link) Exceeded() bool {
	w, ok := l.wire.(bounded)
	return ok && w.exceeded()
}

// Folder creates a folder writable for the browser, which is removed with it. It is "" for an external browser.
func (l *Link) Folder(name string) (string, error) {
	w, ok := l.wire.(local)
	if !ok {
		return "", nil
	}
	dir := filepath.Join(w.folder(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777) // the profile around it is open to the browser's user only
}
