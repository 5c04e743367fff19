package gallery_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fawn/assets"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/files"
	"fawn/views/gallery"
	"fawn/views/i18n"
	"fawn/views/layout"
	"fawn/views/markdown"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// TestServeGallery serves the sample pages with a scripted run behind them, for
// looking at them in a browser: FAWN_GALLERY=127.0.0.1:8099 go test -run Serve -timeout 0
func TestServeGallery(t *testing.T) {
	addr := os.Getenv("FAWN_GALLERY")
	if addr == "" {
		t.Skip("FAWN_GALLERY is not set")
	}
	t.Fatal(http.ListenAndServe(addr, newSite()))
}

// site plays the part of the server: one thread, one scripted run at a time.
type site struct {
	mu    sync.Mutex
	began time.Time // guarded by mu; zero while no run was started
	ended time.Time // guarded by mu; when the reader pressed stop
	n     int       // guarded by mu; number of runs
	text  string    // guarded by mu; what the reader said
	drop  time.Duration
}

func newSite() http.Handler {
	s := &site{}
	s.drop, _ = time.ParseDuration(os.Getenv("FAWN_DROP"))
	mux := http.NewServeMux()
	mux.Handle(assets.Prefix, assets.Handler())
	mux.HandleFunc("GET /workspace/chats/live", s.page)
	mux.HandleFunc("GET /ui/threads/live/stream", s.stream)
	mux.HandleFunc("GET /ui/threads/{id}/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": silence\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /ui/threads/live/messages", s.send)
	mux.HandleFunc("POST /ui/threads/live/stop", s.stop)
	mux.HandleFunc("POST /ui/threads/{id}/uploads", upload)
	mux.HandleFunc("POST /ui/threads/{id}/uploads/{name}/delete", func(w http.ResponseWriter, r *http.Request) {
		reply(w, views.Frame{})
	})
	mux.HandleFunc("POST /ui/threads", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseMultipartForm(1 << 20)
		s.start(r.FormValue("text"))
		http.Redirect(w, r, "/workspace/chats/live", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /ui/threads/{id}/steps/{step}", func(w http.ResponseWriter, r *http.Request) {
		_ = i18n.In("en",
			chat.StepDetails(views.StepBody{Thread: "t1", Step: gallery.Done().Turns[1].Trail.Steps[3], Cut: true,
				Raw: "#"})).Render(r.Context(), w)
	})
	mux.HandleFunc("GET /ui/threads/{id}/panel/{path...}", func(w http.ResponseWriter, r *http.Request) {
		p := views.Panel{ThreadID: "t1", Files: gallery.Done().Files, Code: r.FormValue("tab") == "code"}
		for _, f := range p.Files {
			if f.Path == r.PathValue("path") {
				p.File = &views.FileView{File: f, Text: "# A file\n\nWith *some* text.\n"}
			}
		}
		_ = i18n.In("en", files.Panel(p)).Render(r.Context(), w)
	})
	mux.HandleFunc("GET /ui/threads/{id}/panel", func(w http.ResponseWriter, r *http.Request) {
		_ = i18n.In("en", files.Panel(views.Panel{ThreadID: "t1", Files: gallery.Done().Files})).Render(r.Context(), w)
	})
	mux.HandleFunc("GET /ui/threads/{id}/messages/{m}/raw", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "# the *source*")
	})
	mux.HandleFunc("POST /ui/prefs", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "{}") })
	mux.HandleFunc("GET /ui/threads/{id}/view/{path...}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy",
			"sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'")
		fmt.Fprint(w, "<h1 style='font-family:sans-serif'>A page</h1>")
	})
	mux.HandleFunc("GET /p/{name}", func(w http.ResponseWriter, r *http.Request) {
		c, ok := gallery.Pages(gallery.Look{Theme: views.Theme(r.FormValue("theme")),
			Lang: r.FormValue("lang")})[r.PathValue("name")]
		if r.PathValue("name") == "all" {
			c, ok = gallery.Gallery(views.Theme(r.FormValue("theme"))), true
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		_ = c.Render(r.Context(), w)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		mux.ServeHTTP(w, r)
	})
}

func upload(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":"broken"}`)
		return
	}
	h := r.MultipartForm.File["files"][0]
	var f views.Frame
	var b strings.Builder
	_ = i18n.In("en", chat.UploadChip(r.PathValue("id"), views.Attachment{Name: h.Filename, Bytes: h.Size})).
		Render(r.Context(), &b)
	f.Chip = b.String()
	reply(w, f)
}

func reply(w http.ResponseWriter, f views.Frame) {
	b, _ := f.JSON()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

const (
	thinking = 800 * time.Millisecond
	perStep  = 700 * time.Millisecond
	rate     = 450 // bytes a second
)

func (s *site) start(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.began, s.ended, s.text = time.Now(), time.Time{}, text
}

// now is the state of the run at this moment.
func (s *site) now() (turn views.Turn, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		return views.Turn{}, true
	}
	at := time.Now()
	if !s.ended.IsZero() {
		at = s.ended
	}
	d := at.Sub(s.began)
	all := gallery.Done().Turns[1]
	whole := thinking + time.Duration(len(all.Trail.Steps))*perStep +
		time.Duration(len(all.Answer.Text))*time.Second/rate
	d = min(d, whole+10*time.Millisecond)
	id := "L" + strconv.Itoa(s.n)
	turn = views.Turn{ID: id, User: &views.UserMessage{ID: id, Text: s.text}, State: views.TurnRunning, Last: true,
		Trail: views.Trail{Since: s.began, Open: true}}
	for i, st := range all.Trail.Steps {
		from := thinking + time.Duration(i)*perStep
		if d < from {
			break
		}
		st.ID += id
		if d < from+perStep {
			st.State, st.Since, st.Open = views.StepRun, s.began.Add(from), true
		}
		turn.Trail.Steps = append(turn.Trail.Steps, st)
	}
	if rest := d - thinking - time.Duration(len(all.Trail.Steps))*perStep; rest > 0 {
		n := min(int(rest.Seconds()*rate), len(all.Answer.Text))
		for n > 0 && n < len(all.Answer.Text) && all.Answer.Text[n]&0xc0 == 0x80 {
			n--
		}
		turn.Answer = &views.Answer{ID: "a" + id, Text: all.Answer.Text[:n], Open: n < len(all.Answer.Text)}
		over = n == len(all.Answer.Text)
	}
	if over || !s.ended.IsZero() {
		over = true
		turn.State, turn.Elapsed, turn.Trail.Elapsed, turn.Trail.Open = views.TurnDone, d, d, false
		if !s.ended.IsZero() {
			turn.State = views.TurnStopped
		}
		if turn.Answer != nil {
			turn.Answer.Open = false
		}
		turn.Files, turn.Tokens = all.Files, 12_345
	}
	return turn, over
}

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	turn, over := s.now()
	t := views.Thread{ID: "live", Title: "Live", Running: !over, Cursor: cursor(turn), Files: turn.Files}
	if turn.ID != "" {
		t.Turns = []views.Turn{turn}
	}
	_ = chat.ThreadPage(views.ThreadPage{Shell: views.Shell{Now: time.Now(), Current: "live",
		Theme: views.Theme(r.FormValue("theme"))}, Thread: t,
		Composer: views.Composer{ThreadID: "live", Running: !over}}).Render(r.Context(), w)
}

func (s *site) send(w http.ResponseWriter, r *http.Request) {
	s.start(r.FormValue("text"))
	turn, _ := s.now()
	if r.Header.Get("X-Fawn") == "" {
		http.Redirect(w, r, "/workspace/chats/live", http.StatusSeeOther)
		return
	}
	f := views.Frame{Running: true, Cursor: cursor(turn)}
	_ = f.Put(r.Context(), views.SwapAppend, "turns", chat.Turn("live", turn))
	_ = f.Put(r.Context(), views.SwapOuter, "send", chat.SendButton("live", true, false))
	reply(w, f)
}

func (s *site) stop(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.ended = time.Now()
	s.mu.Unlock()
	if r.Header.Get("X-Fawn") == "" {
		http.Redirect(w, r, "/workspace/chats/live", http.StatusSeeOther)
		return
	}
	reply(w, views.Frame{})
}

// cursor is the number of steps, the number of running ones and the bytes of the answer.
func cursor(t views.Turn) string {
	n, running := len(t.Trail.Steps), 0
	if n > 0 && t.Trail.Steps[n-1].State == views.StepRun {
		running = 1
	}
	text := -1
	if t.Answer != nil {
		text = len(t.Answer.Text)
	}
	return fmt.Sprintf("%s.%d.%d.%d", t.ID, n, running, text)
}

func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	ctx := i18n.With(r.Context(), "en")
	if s.drop > 0 {
		c, cancel := context.WithTimeout(ctx, s.drop)
		defer cancel()
		ctx = c
	}
	out := http.NewResponseController(w)
	seen := strings.Split(r.FormValue("v"), ".")
	if len(seen) != 4 {
		seen = []string{"", "0", "0", "-1"}
	}
	nSteps, _ := strconv.Atoi(seen[1])
	nRunning, _ := strconv.Atoi(seen[2])
	nText, _ := strconv.Atoi(seen[3])
	differ := (*markdown.Differ)(nil)
	event := func(name, id string, data []byte) { fmt.Fprintf(w, "event: %s\nid: %s\ndata: %s\n\n", name, id, data) }
	for {
		turn, over := s.now()
		cur := cursor(turn)
		var f views.Frame
		for i, st := range turn.Trail.Steps {
			switch {
			case i >= nSteps:
				_ = f.Put(ctx, views.SwapAppend, "steps-"+turn.ID, chat.Step(st))
			case i == nSteps-1 && nRunning == 1 && st.State != views.StepRun:
				id := map[views.StepKind]string{views.StepReasoning: "r-", views.StepNote: "n-"}[st.Kind]
				if id == "" {
					id = "s-"
				}
				_ = f.Put(ctx, views.SwapOuter, id+st.ID, chat.Step(st))
			}
		}
		if turn.Answer != nil && nText < 0 {
			_ = f.Put(ctx, views.SwapAppend, "a-"+turn.ID,
				chat.Answer("live", views.Answer{ID: turn.Answer.ID, Open: true}))
		}
		if len(f.Swap) > 0 {
			_ = f.Put(ctx, views.SwapOuter, "th-"+turn.ID, chat.TrailHead(turn))
			b, _ := f.JSON()
			event("html", cur, b)
		}
		nSteps, nRunning = len(turn.Trail.Steps), 0
		if strings.Split(cur, ".")[2] == "1" {
			nRunning = 1
		}
		if turn.Answer != nil {
			if differ == nil {
				differ = markdown.NewDiffer(chat.MarkdownOptions("en", "live", "m-"+turn.Answer.ID))
				if nText > 0 {
					differ.Patch(turn.Answer.Text[:nText], false)
				}
			}
			if ops := differ.Patch(turn.Answer.Text, over); len(ops) > 0 {
				b, _ := views.Patch{Element: "m-" + turn.Answer.ID, Ops: ops}.JSON()
				event("md", cur, b)
			}
			nText = len(turn.Answer.Text)
		}
		if over {
			f := views.Frame{Say: "Answer ready", Title: "Ready"}
			f.Do(views.SwapClass, "t-"+turn.ID, chat.TurnClass(turn.State, true))
			_ = f.Put(ctx, views.SwapOuter, "th-"+turn.ID, chat.TrailHead(turn))
			_ = f.Put(ctx, views.SwapOuter, "files-"+turn.ID, chat.TurnFiles("live", turn))
			_ = f.Put(ctx, views.SwapOuter, "files-button", chat.FilesButton("live", len(turn.Files)))
			_ = f.Put(ctx, views.SwapOuter, "end-"+turn.ID, chat.End("live", turn))
			_ = f.Put(ctx, views.SwapOuter, "send", chat.SendButton("live", false, false))
			_ = f.Put(ctx, views.SwapOuter, "title", chat.Heading("A title of its own"))
			_ = f.Put(ctx, views.SwapOuter, "tl-live",
				layout.ThreadRow(views.ThreadRow{ID: "live", Title: "A title"}, true))
			b, _ := f.JSON()
			event("done", cur, b)
			_ = out.Flush()
			return
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
