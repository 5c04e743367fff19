package providers_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestANiceServerHasItsSandboxToo: who starts the server with nice, or as the first to go
// when memory runs out, gets the same sandbox. The kernel lets nobody climb back from there.
func TestANiceServerHasItsSandboxToo(t *testing.T) {
	if os.Getenv("FAWN_TEST_NICE") != "" {
		t.Skip("is the nice server itself")
	}
	t.Parallel()
	script := `echo 1000 >/proc/self/oom_score_adj; exec nice -n 15 "$0" -test.run='^TestCommandsSeeRealPathsAndNothingElse$' -test.v`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), "FAWN_TEST_NICE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
