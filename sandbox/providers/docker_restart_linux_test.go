package providers_test

import (
	"strings"
	"testing"

	"fawn/sandbox"
)

// TestContainerRestarts: all that runs in it ends, files stay, and the next command is told.
func TestContainerRestarts(t *testing.T) {
	eachEngine(t, func(t *testing.T, open func(...func(*sandbox.Config)) *world) {
		w, m := open(), mark()
		s := w.thread("a")
		restart := func(want bool) {
			t.Helper()
			if ran, err := w.provider.Restart(t.Context(), sandbox.ThreadRef{ID: "a"}, "by the user"); err != nil ||
				ran != want {
				t.Errorf("something ran: %v, %v", ran, err)
			}
			noneLeft(t, m)
		}
		do(t, s,
			sandbox.ExecReq{Command: `echo kept > kept; echo lost > /tmp/lost; (trap "" TERM HUP INT; exec setsid sleep 1000) >/dev/null 2>&1 &`,
				Env: map[string]string{"MARK": m}})
		restart(true)
		restart(false)
		res := bash(t, s, "cat kept; ls /tmp/lost 2>/dev/null")
		if string(res.Output) != "kept\n" || !res.SandboxRestarted ||
			!strings.Contains(strings.Join(res.Notes, "\n"), "The sandbox was restarted (by the user)") {
			t.Errorf("the next command: %q %+v", res.Output, res)
		}
		ended := make(chan sandbox.ExecResult, 1)
		go func() {
			ended <- do(t, s, sandbox.ExecReq{Command: "touch up; sleep 1000", Env: map[string]string{"MARK": m}})
		}()
		waitFor(t, "the command", func() bool {
			_, err := readFile(w, "a", "up")
			return err == nil
		})
		restart(true)
		if res := <-ended; !res.SandboxRestarted ||
			!strings.Contains(strings.Join(res.Notes, "\n"), "The sandbox was restarted (by the user)") {
			t.Errorf("the running command: %+v", res)
		}
	})
}
