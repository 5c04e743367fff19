package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// MaxEdit is the largest text that people can edit, in bytes.
const MaxEdit = 2 << 20

var (
	// ErrChanged means that the text to edit has changed meanwhile.
	ErrChanged = errors.New("the file has changed since it was read")
	// ErrNotText means that the file to edit isn't a text file in the agent's outputs.
	ErrNotText = errors.New("only plain text files can be edited")
)

// Edit replaces the text of a file in [Outputs] if its SHA-256, in hexadecimal, is still sum, and returns the new one.
// Links are never followed. Errors: ErrPath for another folder, ErrNotText, ErrTooLarge, ErrChanged, ErrQuota, and
// those of io/fs.
func (f *Files) Edit(ctx context.Context, p, text, sum string) (string, error) {
	at, err := f.editable(p)
	if err != nil {
		return "", err
	}
	if len(text) > MaxEdit {
		return "", ErrTooLarge
	}
	if !plainText([]byte(text)) {
		return "", ErrNotText
	}
	now, mode, err := readPlain(at)
	if err != nil {
		return "", err
	}
	if !strings.EqualFold(Sum(now), sum) {
		return "", ErrChanged
	}
	if err := f.spendIn(ctx, at, int64(len(text))); err != nil {
		return "", err
	}
	if err := f.replace(ctx, at, []byte(text), mode.Perm()); err != nil {
		return "", OpError("write", p, err)
	}
	return Sum([]byte(text)), nil
}

// Editable reads a text that [Files.Edit] would take, with the same errors.
func (f *Files) Editable(p string) ([]byte, error) {
	at, err := f.editable(p)
	if err != nil {
		return nil, err
	}
	text, _, err := readPlain(at)
	return text, err
}

// Sum returns the SHA-256 of a text in hexadecimal.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// editable finds a file that may be edited, without following any link.
func (f *Files) editable(p string) (place, error) {
	clean, err := Clean(p)
	if err != nil {
		return place{}, err
	}
	if !Under(Outputs, clean) {
		return place{}, refuse(ErrPath, "only files in "+Outputs+" can be edited")
	}
	if strings.EqualFold(path.Ext(clean), ".skill") {
		return place{}, ErrNotText
	}
	at, err := f.locate(clean)
	if err != nil {
		return at, OpError("open", clean, err)
	}
	for end := 0; end < len(at.rel); end++ {
		next := strings.IndexByte(at.rel[end:], '/')
		if end += next; next < 0 {
			end = len(at.rel)
		}
		info, err := at.root.Lstat(at.rel[:end])
		switch {
		case err != nil:
			return at, OpError("open", clean, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return at, ErrNotText
		}
	}
	return at, nil
}

// readPlain reads a text file as a whole.
func readPlain(at place) ([]byte, fs.FileMode, error) {
	file, info, err := openRegular(at.root, at.rel)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	if same, err := at.root.Lstat(at.rel); err != nil || !os.SameFile(info, same) { // it became a link a moment ago
		return nil, 0, ErrNotText
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxEdit+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(text) > MaxEdit:
		return nil, 0, ErrTooLarge
	case !plainText(text):
		return nil, 0, ErrNotText
	}
	return text, info.Mode(), nil
}

func plainText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }
