// Command release creates the release files from built binaries: an archive and an SBOM for each, Debian packages for
// Linux, the installation script, and all checksums. The output is reproducible. `make release` runs it.
//
// Goreleaser would do most of this. It isn't used because it needs about 370 modules and often a newer Go than this
// module, runs syft, a second program as large, for the SBOM, and that SBOM lacks embedded files (fonts, htmx) and its
// licence. This package needs no module that the program lacks, and no network.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version of the binaries")
	flag.StringVar(&r.out, "out", "dist", "folder for what is made")
	flag.StringVar(&r.root, "root", ".", "folder of the source")
	seconds := flag.Int64("time", 0, "time of all files, in seconds since 1970")
	flag.Parse()
	r.time = time.Unix(*seconds, 0).UTC()
	if err := r.make(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release holds the attributes common to all files of a release.
type release struct {
	version, out, root string
	time               time.Time
}

// program is a built binary.
type program struct {
	path, system, arch string
	info               *buildinfo.BuildInfo
}

func (r release) make(binaries []string) error {
	if r.version == "" || len(binaries) == 0 {
		return errors.New("a version and at least one binary are needed")
	}
	for _, path := range binaries {
		p, err := read(path)
		if err == nil {
			err = r.create(p)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	script, err := os.ReadFile(filepath.Join(r.root, "release/install.sh"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, "install.sh"), script, 0o755); err != nil {
		return err
	}
	return sums(r.out)
}

// read identifies a binary by the data that the Go command embedded.
func read(path string) (program, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return program{}, err
	}
	p := program{path: path, info: info}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS":
			p.system = s.Value
		case "GOARCH":
			p.arch = s.Value
		}
	}
	if p.system == "" || p.arch == "" {
		return p, errors.New("it doesn't name its platform")
	}
	return p, nil
}

// create creates all files for one binary.
func (r release) create(p program) error {
	name := fmt.Sprintf("fawn-%s-%s-%s", r.version, p.system, p.arch)
	pack, ending := r.tarball, ".tar.gz"
	if p.system == "windows" {
		pack, ending = r.zip, ".zip"
	}
	files := []entry{
		{name: name + "/fawn", mode: 0o755, from: p.path},
		{name: name + "/LICENSE", mode: 0o644, from: filepath.Join(r.root, "LICENSE")},
		{name: name + "/NOTICES.txt", mode: 0o644, from: filepath.Join(r.root, "assets/notices.txt")},
		{name: name + "/README.md", mode: 0o644, from: filepath.Join(r.root, "README.md")},
		{name: name + "/config.example.yaml", mode: 0o644, from: filepath.Join(r.root, "config.example.yaml")},
	}
	if p.system == "windows" {
		files[0].name += ".exe"
	}
	if err := r.write(name+ending, func(w io.Writer) error { return pack(w, files) }); err != nil {
		return err
	}
	if err := r.write(name+".cdx.json", func(w io.Writer) error { return r.parts(w, p) }); err != nil {
		return err
	}
	if p.system != "linux" {
		return nil
	}
	deb := fmt.Sprintf("fawn_%s_%s.deb", debVersion(r.version), p.arch)
	return r.write(deb, func(w io.Writer) error { return r.deb(w, p) })
}

func (r release) write(name string, make func(io.Writer) error) (err error) {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := make(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// sums writes the checksums of a folder's files, as sha256sum -c reads them.
func sums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() == "SHA256SUMS" {
			continue
		}
		sum, err := digest(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(list.String()), 0o644)
}

func digest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
