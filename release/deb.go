package main

import (
	"bytes"
	"crypto/md5"
	"embed"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"fawn/sandbox"
)

// scripts are run by dpkg, and keys is the file for the keys of providers.
//
//go:embed deb
var scripts embed.FS

// deb writes a package for Debian and derivatives (deb(5)): the program, its systemd units and their user. It doesn't
// start the service, because anyone who can reach the port may use it.
func (r release) deb(w io.Writer, p program) error {
	files, err := r.debFiles(p)
	if err != nil {
		return err
	}
	control, err := r.debControl(p, files)
	if err != nil {
		return err
	}
	var head, data bytes.Buffer
	if err := r.tarball(&head, control); err != nil {
		return err
	}
	if err := r.tarball(&data, withFolders(files)); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		b    []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", head.Bytes()}, {"data.tar.gz", data.Bytes()}} {
		if _, err := fmt.Fprintf(w, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s", m.name, r.time.Unix(), 0, 0, 0o100644,
			len(m.b), m.b); err != nil {
			return err
		}
		if len(m.b)%2 == 1 { // members of ar start at even offsets
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// debFiles returns the files that a package installs.
func (r release) debFiles(p program) ([]entry, error) {
	const doc, units = "./usr/share/doc/fawn/", "./usr/lib/systemd/system/"
	text := func(name string) (string, error) {
		b, err := os.ReadFile(filepath.Join(r.root, name))
		return string(b), err
	}
	service, err := text("docs/systemd/fawn.service")
	if err != nil {
		return nil, err
	}
	const binary = "/usr/local/bin/fawn"
	if !strings.Contains(service, "ExecStart="+binary+" ") {
		return nil, fmt.Errorf("fawn.service doesn't start %s", binary)
	}
	service = uncommented(strings.ReplaceAll(service, binary, "/usr/bin/fawn"))
	socket, err := text("docs/systemd/fawn.socket")
	if err != nil {
		return nil, err
	}
	license, err := text("LICENSE")
	if err != nil {
		return nil, err
	}
	env, err := scripts.ReadFile("deb/keys")
	if err != nil {
		return nil, err
	}
	share := func(name string) string { return filepath.Join(r.root, "release", "completion", name) }
	return []entry{
		{name: "./etc/fawn.env", mode: 0o600, text: string(env)},
		{name: "./usr/bin/fawn", mode: 0o755, from: p.path},
		{name: units + "fawn.service", mode: 0o644, text: service},
		{name: units + "fawn.socket", mode: 0o644, text: uncommented(socket)},
		{name: "./usr/share/fawn/apparmor", mode: 0o644, text: sandbox.AppArmorProfileOf("/usr/bin/fawn")},
		{name: "./usr/share/bash-completion/completions/fawn", mode: 0o644, from: share("fawn.bash")},
		{name: "./usr/share/zsh/vendor-completions/_fawn", mode: 0o644, from: share("_fawn")},
		{name: "./usr/share/fish/vendor_completions.d/fawn.fish", mode: 0o644, from: share("fawn.fish")},
		{name: doc + "NOTICES.txt", mode: 0o644, from: filepath.Join(r.root, "assets/notices.txt")},
		{name: doc + "config.example.yaml", mode: 0o644, from: filepath.Join(r.root, "config.example.yaml")},
		{name: doc + "copyright", mode: 0o644, text: license + "\nParts of others and their licences are in NOTICES.txt.\n"},
	}, nil
}

// uncommented returns a unit without its first line, a note for manual installation.
func uncommented(unit string) string {
	if first, rest, ok := strings.Cut(unit, "\n"); ok && strings.HasPrefix(first, "# Copy to") {
		return rest
	}
	return unit
}

// debControl returns the files about a package.
func (r release) debControl(p program, files []entry) ([]entry, error) {
	var size int64
	var sums strings.Builder
	for _, f := range files {
		from, n, err := f.open()
		if err != nil {
			return nil, err
		}
		h := md5.New() // for debsums(1); the download is verified by SHA256SUMS
		_, err = io.Copy(h, from)
		from.Close()
		if err != nil {
			return nil, err
		}
		size += (n + 1023) / 1024
		if !strings.HasPrefix(f.name, "./etc/") {
			fmt.Fprintf(&sums, "%x  %s\n", h.Sum(nil), strings.TrimPrefix(f.name, "./"))
		}
	}
	control := fmt.Sprintf(`Package: fawn
Version: %s
Architecture: %s
Maintainer: The Fawn authors <fawn@localhost>
Installed-Size: %d
Depends: bash, ca-certificates, passwd
Section: web
Priority: optional
Description: agent you chat with, with its web page, in one program
 Give it a goal and some files: it plans, uses tools, runs commands in a
 sandbox, writes files and shows every step.
`, debVersion(r.version), p.arch, size)
	all := []entry{
		{name: "./conffiles", mode: 0o644, text: "/etc/fawn.env\n"},
		{name: "./control", mode: 0o644, text: control},
		{name: "./md5sums", mode: 0o644, text: sums.String()},
	}
	for _, name := range []string{"postinst", "postrm", "prerm"} {
		b, err := scripts.ReadFile("deb/" + name)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name: "./" + name, mode: 0o755, text: string(b)})
	}
	return all, nil
}

// withFolders adds the parent folders of files, each before its content.
func withFolders(files []entry) []entry {
	all, seen := []entry{{name: "./", mode: 0o755}}, map[string]bool{".": true}
	var folder func(string)
	folder = func(dir string) {
		if !seen[dir] {
			seen[dir] = true
			folder(path.Dir(dir))
			all = append(all, entry{name: "./" + dir + "/", mode: 0o755})
		}
	}
	for _, f := range files {
		folder(path.Dir(path.Clean(f.name)))
		all = append(all, f)
	}
	return all
}

// debVersion returns a version as dpkg orders them: a commit without a tag comes before all with one.
func debVersion(v string) string {
	v = regexp.MustCompile(`[^A-Za-z0-9.+~]`).ReplaceAllString(v, "+")
	if t := strings.TrimPrefix(v, "v"); t != v && t != "" && t[0] >= '0' && t[0] <= '9' {
		return t
	}
	return "0~" + v
}
