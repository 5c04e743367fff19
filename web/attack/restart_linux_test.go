package attack_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fawn/sandbox"
	"fawn/web/webtest"
)

// TestRestartOfTheSandboxFromTheMenu is what a person does without script about processes
// that will not end: the menu of the chat has a form.
func TestRestartOfTheSandboxFromTheMenu(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{sandbox.ProviderNamespace, sandbox.ProviderLandlock} {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, "sandbox: {provider: "+provider+"}\n")
			w.plain = provider == sandbox.ProviderLandlock
			w.must(t, provider)
			const thread = "restarted"
			told := w.chat(t, thread, []use{tool("bash", "command",
				`echo kept > kept; (trap "" TERM HUP INT; exec setsid sleep 3600) >/dev/null 2>&1 & echo started`)})
			if !strings.Contains(told[0], "started") {
				t.Fatal(told)
			}
			_, page := w.send(t, "GET", "/workspace/chats/"+thread, "", "")
			webtest.Holds(t, "the menu of the chat has no restart", page, `action="/ui/threads/`+thread+`/sandbox"`)
			webtest.Holds(t, "the page does not say that the sandbox was restarted", w.restart(t, thread), "Sandbox restarted.")
			for _, name := range glob(t, "/proc/[0-9]*/environ") {
				if w.holds(name, thread) {
					t.Error(name, "lives on")
				}
			}
			webtest.Holds(t, "the page does not say that nothing was running", w.restart(t, thread), "Nothing was running in the sandbox.")
			after := w.chat(t, thread, []use{tool("bash", "command", "pgrep -u $UID sleep; cat kept")})[0]
			if !strings.HasPrefix(after, "kept\n") ||
				!strings.Contains(after, "The sandbox was restarted (by the user). Files are intact;") {
				t.Errorf("the next command: %q", after)
			}

			// A command that runs is ended, and told why.
			ended := make(chan string, 1)
			go func() {
				ended <- strings.Join(w.chat(t, thread, []use{tool("bash", "command", "echo up > up; sleep 3600")}), "")
			}()
			for end := time.Now().Add(patience); len(glob(t,
				w.data+"/threads/"+thread+"/user-data/workspace/up")) == 0; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the command does not start")
				}
			}
			w.restart(t, thread)
			webtest.Holds(t, "the command is told", <-ended, "The sandbox was restarted (by the user).")
			webtest.Same(t, "the command after that", w.chat(t, thread, []use{tool("bash", "command", "cat kept")})[0], "kept")
		})
	}
}

// restart sends the form of the menu and returns the page that it leads to.
func (w *world) restart(t *testing.T, thread string) string {
	t.Helper()
	status, page := w.send(t, "POST", "/ui/threads/"+thread+"/sandbox", "application/x-www-form-urlencoded", "")
	if status != http.StatusOK {
		t.Fatal(status, page)
	}
	return page
}
