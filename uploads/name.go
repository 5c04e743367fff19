package uploads

import (
	"crypto/rand"
	"mime"
	"net/textproto"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const maxName = 255

// sentName reads the file name of a form part exactly as sent: multipart.Part drops folders, which the
// user must hear about. file is false for a plain form field.
func sentName(h textproto.MIMEHeader) (name string, file bool) {
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil {
		return "", false
	}
	name, file = params["filename"]
	return name, file
}

// safeName strips a folder part, and composes accents that macOS decomposes. ok is false for unusable names: folders,
// dots, backslashes, control characters, staging names.
func safeName(sent string) (name string, ok bool) {
	if strings.HasSuffix(sent, "/") || strings.ContainsRune(sent, '\\') || !utf8.ValidString(sent) ||
		strings.ContainsFunc(sent, unicode.IsControl) {
		return "", false
	}
	name = norm.NFC.String(path.Base(sent))
	if sent == "" || name == "." || name == ".." || name == "/" || len(name) > maxName || staging(name) {
		return "", false
	}
	return name, true
}

const (
	stagingHead = ".upload-"
	stagingTail = ".part"
)

func staging(name string) bool {
	return strings.HasPrefix(name, stagingHead) && strings.HasSuffix(name, stagingTail)
}

// stagingName returns a path for a file that is not complete yet.
func stagingName() string { return path.Join(Folder, stagingHead+rand.Text()+stagingTail) }

// unused returns name, or name_1.ext, name_2.ext and so on, whichever is not
// taken first. A long stem is cut so that the result still fits.
func unused(name string, taken func(string) bool) string {
	if !taken(name) {
		return name
	}
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if stem == "" {
		stem, ext = name, ""
	}
	for n := 1; ; n++ {
		tail := "_" + strconv.Itoa(n) + ext
		s := stem
		for len(s)+len(tail) > maxName && s != "" {
			_, size := utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-size]
		}
		if s+tail != name && len(s+tail) <= maxName && !taken(s+tail) {
			return s + tail
		}
		if s == "" {
			// The extension alone fills the name.
			ext = ext[:len(ext)/2]
			ext = strings.ToValidUTF8(ext, "")
		}
	}
}
