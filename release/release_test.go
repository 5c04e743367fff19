package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
)

// made makes a release of the running test program, which says as much about itself as Fawn's.
func made(t *testing.T) (dir string, p program) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	b := must.Get(os.ReadFile(self))(t)
	path := filepath.Join(t.TempDir(), "some name")
	must.Do(t, os.WriteFile(path, b, 0o700))
	p = must.Get(read(path))(t)
	r := release{version: "v1.2.3", out: t.TempDir(), root: "..", time: time.Unix(1_700_000_000, 0).UTC()}
	must.Do(t, r.make([]string{path}))
	return r.out, p
}

func content(t *testing.T, dir, pattern string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	b := must.Get(os.ReadFile(found[0]))(t)
	return b
}

// TestTwoReleasesAreTheSame, whatever the folders and times of what they are made from.
func TestTwoReleasesAreTheSame(t *testing.T) {
	t.Parallel()
	one, _ := made(t)
	two, _ := made(t)
	names, err := os.ReadDir(one)
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, e := range names {
		if !bytes.Equal(content(t, one, e.Name()), content(t, two, e.Name())) {
			t.Errorf("%s is not the same", e.Name())
		}
		if e.Name() != "SHA256SUMS" && !strings.Contains(string(content(t, one, "SHA256SUMS")), "  "+e.Name()+"\n") {
			t.Errorf("%s has no checksum", e.Name())
		}
	}
}

func TestAnArchiveHasProgramAndLicences(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there it is a zip file")
	}
	dir, p := made(t)
	zr := must.Get(gzip.NewReader(bytes.NewReader(content(t, dir, "fawn-v1.2.3-*.tar.gz"))))(t)
	have := map[string]fs.FileMode{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		have[h.Name] = h.FileInfo().Mode()
	}
	root := "fawn-v1.2.3-" + p.system + "-" + p.arch + "/"
	for name, mode := range map[string]fs.FileMode{"fawn": 0o755, "LICENSE": 0o644, "NOTICES.txt": 0o644} {
		if have[root+name] != mode {
			t.Errorf("%s: %v of %v", name, have[root+name], have)
		}
	}
}

// TestThePartsAreThoseOfTheBinary: each module that it says it has, with a licence, and once.
func TestThePartsAreThoseOfTheBinary(t *testing.T) {
	t.Parallel()
	dir, p := made(t)
	p.info.Deps = slices.DeleteFunc(p.info.Deps, func(m *debug.Module) bool { return m.Path == "" })
	var b bom
	must.Do(t, json.Unmarshal(content(t, dir, "*.cdx.json"), &b))
	have := map[string]component{}
	for _, c := range b.Components {
		if _, twice := have[c.Ref]; twice {
			t.Errorf("%s is there twice", c.Ref)
		}
		if len(c.Licenses) == 0 {
			t.Errorf("%s has no licence", c.Name)
		}
		have[c.Ref] = c
	}
	for _, m := range p.info.Deps {
		c := have[m.Path+"@"+m.Version]
		if c.PURL != "pkg:golang/"+m.Path+"@"+m.Version || len(c.Hashes) != 1 {
			t.Errorf("%s: %+v", m.Path, c)
		}
	}
	for _, ref := range []string{"std", "embedded:htmx"} {
		if have[ref].Version == "" {
			t.Errorf("%s has no version", ref)
		}
	}
}

// TestVersionsAreOrdered as dpkg does.
func TestVersionsAreOrdered(t *testing.T) {
	dpkg := tool(t, "dpkg")
	order := []string{"7a23e4f", "v0.9", "v1.2.3", "v1.2.3-dirty", "v1.2.4-2-gabc123", "v1.2.10"}
	for i := range order[1:] {
		a, b := debVersion(order[i]), debVersion(order[i+1])
		if out, err := exec.Command(dpkg, "--compare-versions", a, "lt", b).CombinedOutput(); err != nil {
			t.Errorf("%s is not before %s: %v %s", a, b, err, out)
		}
	}
}

// TestThePackageIsOneOfDebian, which dpkg reads, installs and removes.
func TestThePackageIsOneOfDebian(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("packages are for Linux")
	}
	reader, dpkg := tool(t, "dpkg-deb"), tool(t, "dpkg")
	dir, p := made(t)
	deb := filepath.Join(dir, "fawn_1.2.3_"+p.arch+".deb")
	said := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	if got := said(reader, "--field", deb, "Package", "Version", "Architecture"); got !=
		"Package: fawn\nVersion: 1.2.3\nArchitecture: "+p.arch+"\n" {
		t.Error(got)
	}
	list := said(reader, "--contents", deb)
	for _, want := range []string{"-rwxr-xr-x root/root", " ./usr/bin/fawn\n",
		" ./usr/lib/systemd/system/fawn.service\n", " ./usr/lib/systemd/system/fawn.socket\n",
		" ./usr/share/bash-completion/completions/fawn\n", " ./usr/share/zsh/vendor-completions/_fawn\n",
		" ./usr/share/fish/vendor_completions.d/fawn.fish\n", " ./usr/share/doc/fawn/copyright\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("there is no %q in\n%s", want, list)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root installs packages")
	}
	root := t.TempDir()
	for name, text := range map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n",
		"etc/shadow": "root:*:1::::::\n", "etc/login.defs": "SYS_UID_MAX 999\n", "var/lib/dpkg/status": "",
		"var/lib/dpkg/updates/.keep": "", "var/lib/dpkg/info/.keep": ""} {
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755),
			os.WriteFile(filepath.Join(root, name), []byte(text), 0o644)))
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	in := []string{"--root=" + root, "--force-script-chrootless", "--force-depends", "--log=/dev/null"}
	said(dpkg, append(in, "--install", deb)...)
	if users := string(content(t, root, "etc/passwd")); !strings.Contains(users, ":/var/lib/fawn:/usr/sbin/nologin\n") {
		t.Errorf("the user is missing:\n%s", users)
	}
	if unit := string(content(t, root, "usr/lib/systemd/system/fawn.service")); !there("usr/bin/fawn") ||
		!strings.Contains(unit, "\nExecStart=/usr/bin/fawn serve\n") {
		t.Error("what the service starts is missing")
	}
	if there("etc/apparmor.d/fawn") {
		t.Error("there is a profile that the AppArmor of this system cannot read")
	}
	must.Do(t, errors.Join(os.WriteFile(filepath.Join(root, "etc/fawn.env"), []byte("KEY=mine\n"), 0o600),
		os.MkdirAll(filepath.Join(root, "etc/apparmor.d/abi"), 0o755),
		os.WriteFile(filepath.Join(root, "etc/apparmor.d/abi/4.0"), nil, 0o644)))
	said(dpkg, append(in, "--install", deb)...) // again, as with an update
	profile := string(content(t, root, "etc/apparmor.d/fawn"))
	if !strings.Contains(profile, " /usr/bin/fawn flags=(unconfined) {\n  userns,\n") {
		t.Errorf("the profile does not let the program make namespaces:\n%s", profile)
	}
	said(dpkg, append(in, "--remove", "fawn")...)
	if there("etc/apparmor.d/fawn") {
		t.Error("removing it leaves AppArmor's profile")
	}
	if there("usr/bin/fawn") || string(content(t, root, "etc/fawn.env")) != "KEY=mine\n" {
		t.Error("removing it leaves the program, or takes the owner's keys")
	}
	said(dpkg, append(in, "--purge", "fawn")...)
	if there("etc/fawn.env") {
		t.Error("the configuration is left")
	}
}

// tool is a program of Debian's, which CI must have.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("FAWN_CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return path
}
