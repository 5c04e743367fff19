package ns_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fawn/sandbox/ns"
)

// TestPrivateFilesAreKnownByMode holds for a server of an ordinary user.
func TestPrivateFilesAreKnownByMode(t *testing.T) {
	top := t.TempDir()
	own := 41_000
	if os.Getuid() != 0 {
		own = os.Getuid()
	}
	var want []string
	for name, hidden := range map[string]bool{"closed 600": true, "group 640": false, "all 644": false,
		"folder/ 700": true, "way/ 711": false, "shared/ 750": false} {
		name, mode, _ := strings.Cut(name, " ")
		path := filepath.Join(top, name)
		err := error(nil)
		if strings.HasSuffix(name, "/") {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		var bits os.FileMode
		if _, scan := fmt.Sscanf(mode, "%o", &bits); errors.Join(err, scan, os.Chmod(path, bits)) != nil ||
			own != os.Getuid() && os.Chown(path, own, own) != nil {
			t.Fatal(name, err, scan)
		}
		if hidden {
			want = append(want, path)
		}
	}
	got, full, err := ns.FindHidden(t.Context(), []string{top}, own)
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || full || !slices.Equal(got, want) {
		t.Errorf("%q %v %v, want %q", got, full, err, want)
	}
	if got, _, err := ns.FindHidden(t.Context(), []string{top}, 7); err != nil || len(got) != 0 {
		t.Errorf("files of another user: %q %v", got, err)
	}
}

// TestAKeptSearchIsMadeOnce, and others each time.
func TestAKeptSearchIsMadeOnce(t *testing.T) {
	top := t.TempDir()
	search := func(want int) {
		t.Helper()
		got, _, err := ns.FindOnce(t.Context(), []string{top}, os.Getuid())
		if err != nil || len(got) != want {
			t.Errorf("%q %v, want %d", got, err, want)
		}
	}
	for i := range 2 {
		if err := os.WriteFile(filepath.Join(top, fmt.Sprint("id_rsa_", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		search(i + 1)
	}
	ns.Keep()
	defer ns.Forget()
	search(2)
	if err := os.WriteFile(filepath.Join(top, ".env"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	search(2)
	ns.Forget()
	search(3)
}

// TestTooManyPrivateFilesHideFolders: what is told to each sandbox stays small, the deepest
// folders go first, and nothing private is shown.
func TestTooManyPrivateFilesHideFolders(t *testing.T) {
	top := t.TempDir()
	var private []string
	for i := range 300 {
		private = append(private, filepath.Join(top, fmt.Sprintf("apps/%d/deep/.env", i%150), fmt.Sprint(i), ".env"))
	}
	private = append(private, filepath.Join(top, "tools", "server.key"))
	for _, name := range private {
		mustWrite(t, name, "x")
	}
	got, full, err := ns.FindHidden(t.Context(), []string{top}, -1)
	if err != nil || !full || len(got) > 200 {
		t.Fatalf("%d %v %v", len(got), full, err)
	}
	for _, name := range private {
		if !slices.ContainsFunc(got, func(h string) bool { return h == name || strings.HasPrefix(name, h+"/") }) {
			t.Errorf("%s is shown", name)
		}
	}
	if slices.Contains(got, top) || slices.Contains(got, filepath.Join(top, "tools")) ||
		slices.Contains(got, filepath.Join(top, "apps")) {
		t.Errorf("more than needed is hidden: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := ns.FindHidden(ctx, []string{top}, -1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
