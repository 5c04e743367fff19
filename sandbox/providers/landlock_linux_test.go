package providers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPlainThreadsHaveUsersOfTheirOwn(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give commands a user of their own")
	}
	w := newPlainWorld(t)
	ids := map[string]bool{}
	for _, id := range []string{"a", "b", "c"} {
		s := w.thread(id)
		res := bash(t, s, `echo $UID; id -G | wc -w; touch x; stat -c %u x; for v in $(grep -E 'Cap(Prm|Eff|Bnd|Amb|Inh)' /proc/self/status | cut -f2 | sort -u); do echo $v; done`)
		var uid, owner, groups int
		var caps string
		if n, err := fmt.Sscan(string(res.Output), &uid, &groups, &owner, &caps); n != 4 || err != nil ||
			uid < w.cfg.UIDBase || owner != uid || groups != 2 || strings.Trim(caps, "0") != "" {
			t.Errorf("%q, %v", res.Output, err)
		}
		ids[strconv.Itoa(uid)] = true
		if st := s.Status(); !slices.Contains(st.Layers, "own_uid") {
			t.Errorf("%+v", st)
		}
		// What the server writes belongs to the same user.
		files, err := w.cfg.Dirs.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.WriteFile(t.Context(), "y", []byte("from the server"), false); err != nil {
			t.Error(err)
		}
		files.Close()
		if res := bash(t, s, "cat y; echo more >> y; rm y"); string(res.Output) != "from the server" ||
			res.ExitCode != 0 {
			t.Errorf("%+v", res)
		}
	}
	if len(ids) != 3 {
		t.Errorf("users %v", ids)
	}
	// Nobody else was let in: the way is open to one group that only they have.
	for _, dir := range []string{"", "threads", "threads/a", "threads/a/sandbox"} {
		info, err := os.Stat(filepath.Join(w.cfg.Dirs.Root, dir))
		if err != nil || info.Mode().Perm() != 0o710 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}
