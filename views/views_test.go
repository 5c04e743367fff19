package views_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/a-h/templ"

	"fawn/agent/agenttest/must"
	"fawn/views"
	"fawn/views/markdown"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "", 20 * time.Millisecond: "", 400 * time.Millisecond: "0.4 s",
		4 * time.Second: "4 s", 9960 * time.Millisecond: "10 s", 59 * time.Second: "59 s",
		59600 * time.Millisecond: "1 m 00 s", 72 * time.Second: "1 m 12 s", 3725 * time.Second: "1 h 02 m"} {
		if got := views.Duration("en", d); got != want {
			t.Errorf("%s: got %q, want %q", d, got, want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1 << 10: "1 KB", 18_200: "18 KB",
		2_400_000: "2.3 MB", 3 << 30: "3.0 GB"} {
		if got := views.Bytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{950: "950", 21_400: "21.4k", 1_500_000: "1.5M"} {
		if got := views.Number(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestDaysAreTheReadersDays(t *testing.T) {
	zone := time.FixedZone("far east", 9*3600)
	now := time.Date(2026, 3, 10, 1, 0, 0, 0, zone)
	for name, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"an hour ago":      {now.Add(-time.Hour), "threads.today"},
		"before midnight":  {now.Add(-2 * time.Hour), "threads.yesterday"},
		"the same in UTC":  {now.Add(-2 * time.Hour).UTC(), "threads.yesterday"},
		"a week":           {now.AddDate(0, 0, -6), "threads.week"},
		"a month":          {now.AddDate(0, 0, -20), ""},
		"last year":        {now.AddDate(-1, 0, 0), ""},
		"a clock in front": {now.Add(time.Hour), "threads.today"},
	} {
		if got := views.Day(now, c.at); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

func TestAddressesEscapeNames(t *testing.T) {
	for got, want := range map[string]string{
		views.FileURL("t/1", "mnt/user-data/outputs/a b#?.md"): "/workspace/chats/t%2F1/files/mnt/user-data/outputs/a%20b%23%3F.md",
		views.UploadURL("t", "a/b.txt"):                        "/ui/threads/t/uploads/a%2Fb.txt",
		views.PanelURL("t", ""):                                "/ui/threads/t/panel",
		views.PanelPageURL("t", "a&b"):                         "/workspace/chats/t?file=a%26b",
		views.File{ThreadID: "t", Path: "/x/y"}.DownloadURL():  "/api/threads/t/artifacts/x/y?download=true",
		views.File{Share: "tok", Path: "x/y z"}.DownloadURL():  "/share/tok/view/x/y%20z?download=true",
		views.File{Share: "tok", Path: "x/y"}.PageURL():        "/share/tok/files/x/y",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for name, c := range map[string]struct {
		media string
		want  views.FileKind
	}{
		"a.MD": {"", views.KindMarkdown}, "a.html": {"", views.KindHTML}, "a.svg": {"", views.KindSVG},
		"a.PNG": {"", views.KindImage}, "a.csv": {"", views.KindTable}, "Makefile": {"", views.KindText},
		"a.go": {"", views.KindText}, "a.bin": {"", views.KindOther},
		"noext": {"text/plain; charset=utf-8", views.KindText}, "noext2": {"image/png", views.KindImage},
		"noext3": {"application/zip", views.KindOther}, "noext4": {"garbage/;", views.KindOther},
		"a.mp4": {"", views.KindVideo},
	} {
		if got := views.KindOf(name, c.media); got != c.want {
			t.Errorf("%s %s: got %s, want %s", name, c.media, got, c.want)
		}
	}
}

func TestFrameIsOneLineOfJSON(t *testing.T) {
	var f views.Frame
	c := templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<b>\n&</b>")
		return err
	})
	must.Do(t, f.Put(t.Context(), views.SwapOuter, "x", c))
	f.Do(views.SwapRemove, "y", "")
	b := must.Get(f.JSON())(t)
	if want := `{"swap":[{"target":"x","how":"outer","html":"<b>\n&</b>"},{"target":"y","how":"remove"}]}`; string(b) != want {
		t.Errorf("got %s", b)
	}
	p, err := views.Patch{Element: "m-1", Ops: []markdown.Op{{Depth: 1, Text: "a\nb"}}}.JSON()
	if err != nil || string(p) != `{"m":"m-1","ops":[[1,0,"","a\nb"]]}` {
		t.Errorf("got %s, %v", p, err)
	}
	var back views.Frame
	if err := json.Unmarshal(b, &back); err != nil || back.Swap[0].HTML != "<b>\n&</b>" {
		t.Errorf("%v %v", back, err)
	}
}

func TestPutTellsWhatFailed(t *testing.T) {
	var f views.Frame
	broken := errors.New("broken")
	err := f.Put(t.Context(), views.SwapOuter, "x",
		templ.ComponentFunc(func(context.Context, io.Writer) error { return broken }))
	if !errors.Is(err, broken) || len(f.Swap) != 0 {
		t.Errorf("%v, %v", err, f.Swap)
	}
}
