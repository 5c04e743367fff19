package seatbelt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"fawn/sandbox"
)

// seatbeltRules are the rules for commands on macOS; the last match wins. File rules don't cover socket connections, so
// those are denied.
type seatbeltRules struct {
	read    []string // readable folders and files of the host
	secrets []string // secrets below them, not readable
	own     []string // folders of the thread
	closed  []string // read-only ones among them
}

// seatbeltSystem returns the parts of the system that programs need: no accounts' folders, no keychains, no service
// settings.
func seatbeltSystem() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/opt", "/System", "/Library", "/Applications/Xcode.app/Contents/Developer",
		"/private/etc/ssl", "/private/etc/hosts", "/private/etc/passwd", "/private/etc/group", "/private/etc/protocols",
		"/private/etc/services", "/private/etc/shells", "/private/etc/bashrc", "/private/etc/profile",
		"/private/etc/paths", "/private/etc/paths.d", "/private/etc/localtime", "/private/var/db/timezone",
		"/private/var/db/dyld", "/private/var/select",
	}
}

// profile returns the text for sandbox-exec. Paths must be without links.
func (r seatbeltRules) profile() (string, error) {
	var b strings.Builder
	b.WriteString(`(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.notification_center"))
(allow file-read* (literal "/") (subpath "/dev/fd"))
(allow file-read* file-write-data file-ioctl
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/dtracehelper"))
(allow file-read-metadata (literal "/etc") (literal "/tmp") (literal "/var") (literal "/private") (literal "/private/etc") (literal "/private/var"))
`)
	rule := func(what string, paths []string) error {
		for _, p := range paths {
			q, err := seatbeltString(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "(%s (subpath %s))\n", what, q)
		}
		return nil
	}
	secrets := append([]string{"/Library/Keychains", "/Library/Preferences", "/Library/Application Support",
		"/Library/Logs", "/private/etc/ssl/private"}, r.secrets...)
	for _, step := range []struct {
		what  string
		paths []string
	}{
		{"allow file-read*", seatbeltSystem()},
		{"allow file-read*", r.read},
		{"deny file-read* file-write*", secrets},
		{"allow file-read* file-write*", r.own},
		{"deny file-write*", r.closed},
	} {
		if err := rule(step.what, step.paths); err != nil {
			return "", err
		}
	}
	// Programs access each parent of their working folder.
	for _, dir := range above(append(slices.Clone(r.own), r.read...)) {
		q, err := seatbeltString(dir)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "(allow file-read-metadata (literal %s))\n", q)
	}
	b.WriteString("(deny file-write-setugid)\n(deny file-link)\n(deny network*)\n")
	return b.String(), nil
}

// above lists the folders above paths, each once.
func above(paths []string) []string {
	var all []string
	for _, p := range paths {
		for dir := filepath.Dir(p); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			if !slices.Contains(all, dir) {
				all = append(all, dir)
			}
		}
	}
	slices.Sort(all)
	return all
}

// seatbeltString writes a path as a string of the profile's language.
func seatbeltString(path string) (string, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", fmt.Errorf("%w: %q is not a clean absolute path", sandbox.ErrConfig, path)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fmt.Errorf("%w: %q has characters that a sandbox profile cannot hold", sandbox.ErrConfig, path)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`, nil
}

// seatbeltLimits makes bash set macOS's limits before it executes the command.
func seatbeltLimits(l sandbox.Limits) string {
	text := "ulimit -c 0; "
	if l.FileSize > 0 {
		text += fmt.Sprintf("ulimit -f %d; ", max(1, l.FileSize/512))
	}
	if l.OpenFiles > 0 {
		text += fmt.Sprintf("ulimit -n %d; ", l.OpenFiles)
	}
	if s := int64(l.CPUTime.Seconds()); s > 0 {
		text += fmt.Sprintf("ulimit -t %d; ", s)
	}
	return text + `exec "$@"`
}

// seatbeltTest runs in a sandbox and prints a line for each failed restriction.
const seatbeltTest = `
miss() { echo "miss $1"; }
for dir in "$FILES"/workspace "$FILES"/uploads "$FILES"/outputs "$HOME" "$TMPDIR"; do
  { : > "$dir/.probe" && : < "$dir/.probe"; } 2>/dev/null || miss "write_${dir##*/}"
done
{ : < "$NEIGHBOUR"; } 2>/dev/null && miss files
{ : > "${NEIGHBOUR%/*}/.probe"; } 2>/dev/null && miss write_outside
for name in "${NEIGHBOUR%/*}"/*; do [ "$name" = "${NEIGHBOUR%/*}/*" ] || miss list; done
for dir in / /usr /private/etc /private/var/tmp /private/tmp; do { : > "$dir/.probe"; } 2>/dev/null && miss "readonly_$dir"; done
{ : <> "/dev/tcp/127.0.0.1/$PORT"; } 2>/dev/null && miss network
kill -0 "$SERVER" 2>/dev/null && miss signals
echo done
`
