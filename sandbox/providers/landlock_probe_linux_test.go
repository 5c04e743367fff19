package providers_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/sandbox/jail"
)

// automatic makes a role choose among all providers.
func automatic(t *testing.T) []string {
	t.Helper()
	return []string{providerVariable + "=" + sandbox.ProviderAuto,
		dataVariable + "=" + filepath.Join(openDir(t), "data")}
}

func TestWithoutNamespacesAutoTakesLandlock(t *testing.T) {
	newPlainWorld(t)
	t.Run("a filter refuses them", func(t *testing.T) {
		r := report(t, roleFilter, nil, automatic(t)...)
		if !r.OK || r.Provider != sandbox.ProviderLandlock || !slices.Contains(r.Layers, "landlock") ||
			!slices.Contains(r.Layers, "seccomp") || !slices.Contains(r.Degraded, "no-pidns") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("their number is limited to 0", func(t *testing.T) {
		// Root of such a namespace has no other users to give to commands.
		attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_RESOURCE}
		// The sandbox of this process hid it from its own user, who then may not map ids.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		r := report(t, roleLimit, attr, automatic(t)...)
		if os.Getuid() == 0 {
			if r.OK || !strings.Contains(r.Reason, "landlock: root_user") {
				t.Errorf("%+v", r)
			}
			return
		}
		if !r.OK || r.Provider != sandbox.ProviderLandlock || !slices.Contains(r.Degraded, "user-of-server") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("strict takes nothing weaker", func(t *testing.T) {
		r := report(t, roleFilter, nil, append(automatic(t), strictVariable+"=1")...)
		if r.OK || r.Provider != sandbox.ProviderOff ||
			!strings.HasPrefix(r.Reason, "userns_forbidden; landlock: degraded:") {
			t.Errorf("%+v", r)
		}
	})
}

func TestRequiredLayersKeepAutoFromLandlock(t *testing.T) {
	newPlainWorld(t)
	r := report(t, roleFilter, nil, append(automatic(t), requireVariable+"=pidns")...)
	if r.OK || r.Reason != "userns_forbidden; landlock: layers missing: pidns" {
		t.Errorf("%+v", r)
	}
	if r = report(t, roleFilter, nil, append(automatic(t), requireVariable+"=landlock")...); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestWithoutNamespacesAndLandlockCommandsAreOff(t *testing.T) {
	r := report(t, roleBare, nil, automatic(t)...)
	if r.OK || r.Provider != sandbox.ProviderOff {
		t.Fatalf("%+v", r)
	}
	err := &sandbox.UnavailableError{Reason: r.Reason, Hint: r.Hint}
	want := `bash is disabled: no sandbox is available on this host (reason: userns_forbidden; landlock: not supported). Ask the owner to run "fawn doctor", or set sandbox.provider explicitly.`
	if err.Error() != want {
		t.Errorf("%s", err)
	}
	if !strings.Contains(r.Hint, "Linux 6.2") {
		t.Errorf("hint %q", r.Hint)
	}
}

func TestPlainStepsThatFailAreNamed(t *testing.T) {
	newPlainWorld(t)
	const perm, nosys, acces = int(syscall.EPERM), int(syscall.ENOSYS), int(syscall.EACCES)
	for _, c := range []struct {
		step   string
		errno  int
		reason string
	}{
		{"rlimits", perm, "init"}, {"privileges", perm, "root_user"}, {"sources", acces, "data_unreachable"},
		{"landlock", nosys, "no_landlock"}, {"seccomp", nosys, "no_seccomp"}, {"exec", acces, "init"},
	} {
		t.Run(c.step, func(t *testing.T) {
			p, r := probeOf(t, func(cfg *sandbox.Config) {
				cfg.Provider = sandbox.ProviderLandlock
				cfg.Dirs.Root = filepath.Join(openDir(t), "data")
				cfg.TestOnly.FailStep, cfg.TestOnly.FailErrno = c.step, c.errno
			})
			if r.OK || r.Step != c.step || r.Reason != c.reason || r.Errno == "" || p.Name() != sandbox.ProviderOff {
				t.Errorf("%s: %+v", p.Name(), r)
			}
		})
	}
}

// A root server's commands are another user, who must get to the files.
func TestPlainDataMustBeWithinReach(t *testing.T) {
	newPlainWorld(t)
	if os.Getuid() != 0 {
		t.Skip("commands are the user of the server")
	}
	dir := openDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, r := probeOf(t, func(cfg *sandbox.Config) {
		cfg.Provider, cfg.Dirs.Root = sandbox.ProviderLandlock, filepath.Join(dir, "data")
	})
	if r.OK || r.Reason != "data_unreachable" || r.Hint == "" {
		t.Errorf("below a closed folder: %+v", r)
	}
	shared := filepath.Join(openDir(t), "data")
	if err := os.Mkdir(shared, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, r = probeOf(t, func(cfg *sandbox.Config) {
		cfg.Provider, cfg.Dirs.Root = sandbox.ProviderLandlock, shared
	}); r.OK || r.Reason != "data_unreachable" || !strings.Contains(r.Detail, "group") {
		t.Errorf("a folder of a group: %+v", r)
	}
	if info, err := os.Stat(shared); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("it was changed: %v, %v", info, err)
	}
}

// A build may lack the small program. Then nothing makes the folder that it would lie in.
func TestPlainSandboxesNeedNoSmallProgram(t *testing.T) {
	newPlainWorld(t)
	data := filepath.Join(openDir(t), "data")
	p, r := probeOf(t, func(cfg *sandbox.Config) {
		cfg.Provider, cfg.Dirs.Root, cfg.TestOnly.Init = sandbox.ProviderLandlock, data, filepath.Join(data, "missing")
	})
	if !r.OK || p.Name() != sandbox.ProviderLandlock {
		t.Errorf("%s: %+v", p.Name(), r)
	}
	if _, err := os.Lstat(filepath.Join(data, "run")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there, so this proves nothing: %v", err)
	}
}

func TestPlainDataPathMustBePlain(t *testing.T) {
	newPlainWorld(t)
	_, r := probeOf(t, func(cfg *sandbox.Config) {
		cfg.Provider, cfg.Dirs.Root = sandbox.ProviderLandlock, filepath.Join(openDir(t), "my $data")
	})
	if r.OK || r.Reason != "data_path" || r.Hint == "" {
		t.Errorf("%+v", r)
	}
}

// Rules cannot take back what they allow, so secrets below a folder that is
// shown are left out of it.
func TestPlainSecretsBelowShownFoldersStayHidden(t *testing.T) {
	shown := openDir(t)
	mustWrite(t, filepath.Join(shown, "skill.md"), "a skill")
	mustWrite(t, filepath.Join(shown, "deep/keys/key"), "SECRET-key")
	mustWrite(t, filepath.Join(shown, "deep/other"), "other")
	link(t, filepath.Join(shown, "deep/keys/key"), filepath.Join(shown, "alias"))
	w := newPlainWorld(t, func(c *sandbox.Config) {
		c.Dirs.Mounts = []files.Mount{{Path: files.Skills, Dir: shown}}
		c.Secrets = []string{filepath.Join(shown, "deep/keys")}
	})
	res := bash(t, w.thread("a"), "cat /mnt/skills/skill.md /mnt/skills/deep/other; cat /mnt/skills/deep/keys/key /mnt/skills/alias; ls /mnt/skills/deep/keys; touch /mnt/skills/x /mnt/skills/deep/y; echo z >> /mnt/skills/skill.md")
	out := string(res.Output)
	if !strings.HasPrefix(out, "a skillother") || strings.Contains(out, "SECRET") || strings.Count(out, denied) != 6 ||
		strings.Contains(out, shown) {
		t.Errorf("%s", out)
	}
}

func TestPlainUploadsCanBeReadOnly(t *testing.T) {
	w := newPlainWorld(t)
	s := w.thread("a", func(p *sandbox.Policy) { p.UploadsReadOnly = true })
	res := bash(t, s, "touch /mnt/user-data/uploads/x; touch /mnt/user-data/outputs/y && ls /mnt/user-data/uploads /mnt/user-data/outputs")
	out := string(res.Output)
	if !strings.Contains(out, denied) ||
		!strings.HasPrefix(out, "/mnt/user-data/outputs:\ny\n\n/mnt/user-data/uploads:\n") {
		t.Errorf("%q", out)
	}
}

func TestLandlockVersionIsKnown(t *testing.T) {
	if b, err := os.ReadFile("/sys/kernel/security/lsm"); err == nil && strings.Contains(string(b), "landlock") &&
		jail.LandlockABI() == 0 {
		t.Errorf("the kernel says it has Landlock: %s", b)
	}
}
