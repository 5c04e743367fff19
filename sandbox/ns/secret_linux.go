package ns

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Limits of the search in the contents of files.
const (
	maxHead = 64 << 10  // bytes of one file
	maxRead = 512 << 20 // limit of bytes read per program folder
)

// holdsSecret reports whether the beginning of a file contains a secret: a private key, a token of a known service, an
// address with a password, or a setting with a secret's name and no placeholder value. read is the number of bytes
// examined. An unreadable file may contain one.
func holdsSecret(path string) (holds bool, read int) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission), 0
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxHead))
	if err != nil {
		return true, len(b)
	}
	if bytes.IndexByte(b[:min(len(b), 1024)], 0) >= 0 { // a program or data
		return false, len(b)
	}
	return secretIn(b, isScript(path, b)), len(b)
}

// secretIn reports whether a text holds a secret. In scripts, which have names such as password in their code, settings
// and addresses count for nothing.
func secretIn(b []byte, script bool) bool {
	r := secretRules()
	if anyOf(b, "PRIVATE KEY", "PuTTY-User-Key", "AGE-SECRET-KEY", "client-key-data") && r.key.Match(b) {
		return true
	}
	if slices.ContainsFunc(tokenStarts, func(start string) bool { return tokenIn(b, start, r.token) }) {
		return true
	}
	if script {
		return false
	}
	return loginIn(b, r.login) || secretSetting(b)
}

// tokenStarts are the beginnings of tokens that rules.token matches.
var tokenStarts = []string{"AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "sk-", "rk_live_",
	"sk_live_", "AIza", "npm_", "pypi-", "hf_", "dop_v1_", "SG.", "ya29.", "eyJ"}

// tokenIn reports whether a text contains a token with a prefix that isn't a placeholder. Matching at these places only is
// several times as fast as searching with the expression, and this is done for each file when the server starts.
func tokenIn(b []byte, start string, token *regexp.Regexp) bool {
	for at := 0; ; at++ {
		next := bytes.Index(b[at:], []byte(start))
		if next < 0 {
			return false
		}
		if at += next; at > 0 && isWord(b[at-1]) {
			continue
		}
		if t := token.Find(b[at:]); t != nil && entropy(t) > 3 && !placeholder(t) {
			return true
		}
	}
}

// loginIn reports whether a text contains an address with a password that isn't a placeholder. As with tokens, the
// expression only sees possible places, with more context than it can match.
func loginIn(b []byte, login *regexp.Regexp) bool {
	for at := 0; ; at += 3 {
		next := bytes.Index(b[at:], []byte("://"))
		if next < 0 {
			return false
		}
		at += next
		if rest := b[at+3:]; bytes.IndexByte(rest[:min(len(rest), 200)], '@') < 0 {
			continue
		}
		for _, m := range login.FindAllSubmatch(b[max(0, at-32):min(len(b), at+500)], -1) { // an earlier one may be a placeholder
			if !placeholder(m[1]) && !placeholder(m[2]) {
				return true
			}
		}
	}
}

func anyOf(b []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(b, []byte(w)) })
}

type rules struct{ key, token, login *regexp.Regexp }

var secretRules = sync.OnceValue(func() rules {
	return rules{
		// A private key with its content, or the key file of PuTTY, age, or a Kubernetes client.
		key: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----\\?[rn\s]+` +
			`(?:[A-Za-z-]+: [^\n]*\n)*\s*[A-Za-z0-9+/=]{40}|(?m:^PuTTY-User-Key-File-\d)|AGE-SECRET-KEY-1[A-Z0-9]{50}|` +
			`client-key-data: *[A-Za-z0-9+/=]{40}`),
		token: regexp.MustCompile(`^(?:A(?:KI|SI)A[A-Z2-7]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{50,}|glpat-[\w-]{20,}|` +
			`xox[abeprs]-[\w-]{20,}|sk-(?:ant-|proj-|or-)?[\w-]{32,}|[rs]k_live_\w{16,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|` +
			`pypi-[\w-]{50,}|hf_[A-Za-z0-9]{30,}|dop_v1_[a-f0-9]{64}|SG\.[\w-]{20,}\.[\w-]{20,}|ya29\.[\w-]{30,}|` +
			`eyJ[\w-]{10,}\.eyJ[\w-]{20,}\.[\w-]{20,})`),
		login: regexp.MustCompile(`\b[a-z][a-z0-9+.-]{2,20}://[^\s:/@"'<>]{0,64}:([^\s:/@"'<>]{3,128})@([\w\[][\w.-]*)`),
	}
})

// secretSetting reports whether a text has a setting that should be secret with a value that is: name, then = or : or
// the end of a tag, then the value, all on one line.
func secretSetting(b []byte) bool {
	for at := 0; at < len(b); at++ {
		next := bytes.IndexAny(b[at:], "=:>")
		if next < 0 {
			return false
		}
		if at += next; secretName(settingName(b[max(0, at-64):at])) && secretValue(settingValue(b[at+1:min(len(b), at+260)])) {
			return true
		}
	}
	return false
}

// settingName returns the name at the end of a text.
func settingName(b []byte) []byte {
	b = bytes.TrimRight(bytes.TrimRight(b, " \t"), `"'`)
	from := len(b)
	for from > 0 && (isWord(b[from-1]) || b[from-1] == '-' || b[from-1] == '.') {
		from--
	}
	return b[from:]
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// settingValue returns the value at the beginning of a text.
func settingValue(b []byte) []byte {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte(">")), " \t")
	if len(b) > 1 && (b[0] == '"' || b[0] == '\'') {
		if end := bytes.IndexByte(b[1:], b[0]); end >= 0 {
			return b[1 : 1+end]
		}
		return nil
	}
	if end := bytes.IndexAny(b, " \t\r\n\"',;<>{}"); end >= 0 {
		b = b[:end]
	}
	return b
}

// joined removes the separators between the words of a name.
var joined = strings.NewReplacer("_", "", "-", "", ".", "")

// secretName reports whether a setting with this name should be secret. Words of names are joined by _, -, . or a
// capital.
func secretName(name []byte) bool {
	end := bytes.TrimRight(name, "_-.")
	if len(end) == 0 || !strings.ContainsRune("denstyh", rune(end[len(end)-1]|0x20)) { // the last letters of all words below
		return false
	}
	low := joined.Replace(strings.ToLower(string(name)))
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "secretkey", "secretaccesskey", "apikey", "accesskey",
		"accesstoken", "authtoken", "bearertoken", "apitoken", "clientsecret", "privatekey"} {
		if strings.HasSuffix(low, word) {
			return true
		}
	}
	return slices.Contains([]string{"pass", "pwd", "token", "auth"}, low) || strings.HasSuffix(string(name), "_TOKEN") ||
		strings.HasSuffix(string(name), "_PASS") || strings.HasSuffix(string(name), "_PWD")
}

// secretValue reports whether the value of a setting that should be secret is one, and not a name, a word or a
// placeholder.
func secretValue(v []byte) bool {
	if len(v) < 6 || placeholder(v) || bytes.ContainsAny(v, " \t(){}[]<>*\\") || v[0] == '/' || v[0] == '.' ||
		bytes.Contains(v, []byte("://")) {
		return false
	}
	digits, letters := false, false
	for _, c := range v {
		digits = digits || c >= '0' && c <= '9'
		letters = letters || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	return digits && letters && entropy(v) > 2
}

// placeholder reports whether a value is a placeholder for a real one.
func placeholder(v []byte) bool {
	low := strings.ToLower(string(v))
	for _, word := range []string{"example", "sample", "changeme", "change_me", "placeholder", "your", "xxxx", "....",
		"0000", "1234", "abcd", "dummy", "insert", "redacted", "password", "secret", "token"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return low == "" || strings.ContainsRune("$%{<[", rune(low[0]))
}

// entropy returns how many bits each byte of v holds, judged by how often bytes occur in it.
func entropy(v []byte) (bits float64) {
	var seen [256]int
	for _, c := range v {
		seen[c]++
	}
	for _, n := range seen {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// isScript reports whether a file is a program of the shell or the like.
func isScript(path string, b []byte) bool {
	return bytes.HasPrefix(b, []byte("#!")) ||
		slices.Contains([]string{".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd"},
			strings.ToLower(filepath.Ext(path)))
}

// ofProgram reports whether a name is that of a program's part that isn't inspected: code, documents, images, archives,
// package lists. Any other file may hold settings.
func ofProgram(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	switch name {
	case "package.json", "package-lock.json", "composer.lock", "go.sum", "record", "metadata",
		"pkg-info", "makefile", "known_hosts":
		return true
	}
	for _, about := range []string{"license", "licence", "copying", "copyright", "third-party", "third_party", "authors", "notice",
		"readme", "changelog", "changes", "news"} {
		if strings.HasPrefix(name, about) {
			return true
		}
	}
	ext := filepath.Ext(name)
	if len(ext) == 2 && ext[1] >= '0' && ext[1] <= '9' || strings.Contains(name, ".so.") { // manuals, libraries
		return true
	}
	return ext != "" && strings.Contains(programEndings, ext+" ")
}

// programEndings are the extensions known to ofProgram, each followed by a space.
const programEndings = ".go .c .cc .cpp .cxx .h .hh .hpp .hxx .inc .inl .s .asm .cu .cuh .ptx .py .pyi .pyx .pxd .js " +
	".mjs .cjs .jsx .ts .tsx .mts .cts .map .vue .java .kt .scala .groovy .rb .pl .pm .pod .t .php .lua .rs .swift .m .mm " +
	".r .jl .hs .ml .mli .el .lisp .scm .clj .ex .exs .erl .vim .tcl .tm .d .zig .nim .f .f90 .html .htm .xhtml .css .scss " +
	".less .svg .md .mdx .rst .adoc .texi .tex .po .pot .mo .gmo .so .a .o .la .lib .dll .exe .dylib .node .wasm .pyc " +
	".pyo .pyd .class .jar .whl .egg .zip .gz .xz .bz2 .zst .tar .tgz .7z .deb .rpm .png .jpg .jpeg .gif .ico .bmp .webp " +
	".avif .tif .tiff .mp3 .mp4 .ogg .wav .webm .ttf .otf .woff .woff2 .eot .pak .bin .dat .db .sqlite .pdf .ps .eps " +
	".cmake .m4 .am .ac .in .mk .gyp .gypi .proto .glsl .patch .diff .snap .tmpl .ejs .hbs .lock .pub .crt .cer .der " +
	".p7b .sum .mod .sig "
