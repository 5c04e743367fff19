package egress

import (
	"cmp"
	"context"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"fawn/sandbox/netguard"
)

const (
	// packageFile limits a configuration file that is read.
	packageFile = 1 << 20
	// packageFiles limits the source lists of apt that are read.
	packageFiles = 256
	// packageHosts limits the hosts that are found.
	packageHosts = 128
)

// Packages locates the configuration of package managers. The zero value uses this machine's locations for the
// process's user.
type Packages struct {
	Root    string   // put before system paths such as /etc; empty for none
	Home    string   // the user's folder; os.UserHomeDir when empty
	Environ []string // KEY=value; os.Environ when nil
}

// PackageHosts returns the configured hosts of this machine's package managers for [Policy]: sorted, distinct, as
// returned by [Host], at most 128.
//
// It reads the environment variables and configuration files of pip, uv, npm, Go, Cargo and apt. A manager without
// configuration, which uses a built-in host, contributes nothing. Other hosts that an index links to aren't included:
// the owner is asked about those. Unreadable files are skipped.
func PackageHosts(ctx context.Context) []string { return Packages{}.Hosts(ctx) }

// Hosts is [PackageHosts] for the locations in p.
func (p Packages) Hosts(ctx context.Context) []string {
	r := &packageReader{ctx: ctx, root: p.Root, home: p.Home, found: make(map[string]bool),
		env: make(map[string]string)}
	if r.home == "" {
		r.home, _ = os.UserHomeDir() // without one, files in it are skipped
	}
	environ := p.Environ
	if environ == nil {
		environ = os.Environ()
	}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			r.env[name] = value
		}
	}
	for _, manager := range []func(){r.pip, r.npm, r.golang, r.cargo, r.apt} {
		manager()
	}
	hosts := slices.Sorted(maps.Keys(r.found))
	return hosts[:min(len(hosts), packageHosts)]
}

// packageReader collects hosts.
type packageReader struct {
	ctx        context.Context
	root, home string
	env        map[string]string
	found      map[string]bool
}

// add records the hosts of HTTP addresses among words.
func (r *packageReader) add(words ...string) {
	for _, word := range words {
		if host, ok := urlHost(word); ok {
			r.found[host] = true
		}
	}
}

// urlHost returns the host of an HTTP address as package managers write them,
// with or without a mark such as "sparse+" before it.
func urlHost(word string) (string, bool) {
	word = strings.Trim(word, "\"'")
	if mark, rest, ok := strings.Cut(word, "+"); ok && !strings.Contains(mark, ":") {
		word = rest
	}
	u, err := url.Parse(word)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	name := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		name = "[" + name + "]"
	}
	host, err := netguard.Host(name)
	return host, err == nil
}

// lines returns the lines of a configuration file, none when it is missing,
// too large, or not a regular file.
func (r *packageReader) lines(path string) []string {
	if !filepath.IsAbs(path) || r.ctx.Err() != nil {
		return nil
	}
	// A pipe would block the opening.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > packageFile {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, packageFile))
	if err != nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
}

// system returns a path outside the user's folder.
func (r *packageReader) system(path string) string { return filepath.Join(r.root, path) }

// user returns a path in the user's folder, "" without one.
func (r *packageReader) user(elem ...string) string {
	if r.home == "" {
		return ""
	}
	return filepath.Join(append([]string{r.home}, elem...)...)
}

// configHome returns where programs keep a user's configuration.
func (r *packageReader) configHome() string {
	return cmp.Or(r.env["XDG_CONFIG_HOME"], r.user(".config"))
}

func (r *packageReader) pip() {
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",
		"UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_FIND_LINKS"} {
		for _, word := range strings.Fields(r.env[name]) {
			// uv names an index as in "name=https://...".
			if before, rest, ok := strings.Cut(word, "="); ok && !strings.Contains(before, ":") {
				word = rest
			}
			r.add(word)
		}
	}
	file := r.env["PIP_CONFIG_FILE"]
	if file == os.DevNull {
		return
	}
	paths := []string{
		r.system("/etc/pip.conf"), r.system("/etc/xdg/pip/pip.conf"), r.user(".pip", "pip.conf"),
		filepath.Join(r.configHome(), "pip", "pip.conf"), file,
	}
	if venv := r.env["VIRTUAL_ENV"]; venv != "" {
		paths = append(paths, filepath.Join(venv, "pip.conf"))
	}
	if runtime.GOOS == "darwin" {
		paths = append(paths, r.system("/Library/Application Support/pip/pip.conf"),
			r.user("Library", "Application Support", "pip", "pip.conf"))
	}
	for _, path := range paths {
		r.add(pipAddresses(r.lines(path))...)
	}
}

func (r *packageReader) npm() {
	userFile, globalFile := "", ""
	for name, value := range r.env {
		// npm reads these in any case.
		switch strings.ToLower(name) {
		case "npm_config_registry":
			r.add(value)
		case "npm_config_userconfig":
			userFile = value
		case "npm_config_globalconfig":
			globalFile = value
		}
	}
	paths := []string{cmp.Or(userFile, r.user(".npmrc")), globalFile, r.system("/etc/npmrc"),
		r.system("/usr/etc/npmrc"), r.system("/usr/local/etc/npmrc")}
	for _, path := range paths {
		r.add(npmAddresses(r.lines(path), r.env)...)
	}
}

func (r *packageReader) golang() {
	// The toolchain's own file holds its defaults; the user's comes before it,
	// and the environment before both.
	var files []string
	for _, root := range []string{r.env["GOROOT"], r.system("/usr/local/go"), r.system("/usr/lib/go"),
		r.system("/usr/lib/golang")} {
		if root != "" {
			files = append(files, filepath.Join(root, "go.env"))
		}
	}
	switch file := r.env["GOENV"]; {
	case file == "off":
	case file != "":
		files = append(files, file)
	case runtime.GOOS == "darwin":
		files = append(files, r.user("Library", "Application Support", "go", "env"))
	default:
		files = append(files, filepath.Join(r.configHome(), "go", "env"))
	}
	set := make(map[string]string)
	for _, path := range files {
		for _, line := range r.lines(path) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				set[name] = value
			}
		}
	}
	for _, name := range []string{"GOPROXY", "GOSUMDB"} {
		set[name] = cmp.Or(r.env[name], set[name])
	}
	r.add(goAddresses(set["GOPROXY"], set["GOSUMDB"])...)
}

func (r *packageReader) cargo() {
	for name, value := range r.env {
		if strings.HasPrefix(name, "CARGO_REGISTRIES_") && strings.HasSuffix(name, "_INDEX") {
			r.add(value)
		}
	}
	home := cmp.Or(r.env["CARGO_HOME"], r.user(".cargo"))
	if home == "" {
		return
	}
	for _, name := range []string{"config.toml", "config"} {
		r.add(cargoAddresses(r.lines(filepath.Join(home, name)))...)
	}
}

func (r *packageReader) apt() {
	r.add(aptAddresses(r.lines(r.system("/etc/apt/sources.list")))...)
	dir := r.system("/etc/apt/sources.list.d")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries[:min(len(entries), packageFiles)] {
		switch filepath.Ext(e.Name()) {
		case ".list":
			r.add(aptAddresses(r.lines(filepath.Join(dir, e.Name())))...)
		case ".sources":
			r.add(aptStanzas(r.lines(filepath.Join(dir, e.Name())))...)
		}
	}
}
