package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"fawn/agent/community"
	"fawn/web/client"
)

// Options select the answering server and the folder for results.
type Options struct {
	Server  client.Server // its web tools must know the pages of the suite
	Model   string        // "" is the server's choice
	Mode    string
	Agent   string // a custom agent, "" for none
	Skill   string // named by each question, "" for none
	Judge   string // a model that judges too, "" for none
	Timeout time.Duration
	Jobs    int    // questions at a time
	Out     string // folder for results
	Again   bool   // also repeat answered questions
	Only    []string
	// Progress gets a line as each question is answered.
	Progress io.Writer
}

// alone is added to each question: no person can answer questions.
const alone = "\n\nNobody can answer questions of yours: decide what is open yourself, and cite the pages that you have opened."

// maxReport limits a file of an answer that is read, in bytes.
const maxReport = 4 << 20

type runner struct {
	Options
	suite *Suite
	mu    sync.Mutex // guards Progress
}

// Evaluate asks the questions of a suite and measures the answers. Each result is stored in its own file at once, so an
// interrupted evaluation resumes with the remaining questions. An error ends it; failed runs are in the report.
func Evaluate(ctx context.Context, s *Suite, o Options) (*Report, error) {
	r := &runner{Options: o, suite: s}
	if err := os.MkdirAll(filepath.Join(o.Out, "questions"), 0o755); err != nil {
		return nil, err
	}
	list, left, err := r.chosen()
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(list))
	failures := make([]error, len(list))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slots := make(chan struct{}, max(1, o.Jobs))
	var work sync.WaitGroup
	for i, q := range list {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		work.Go(func() {
			defer func() { <-slots }()
			if outcomes[i], failures[i] = r.question(ctx, q); failures[i] != nil {
				stop()
			}
		})
	}
	work.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	report := newReport(r, outcomes, left)
	return report, report.save(o.Out)
}

// chosen returns the questions to ask, and the ids of those left out because a required page is missing.
func (r *runner) chosen() (list []Question, left []string, err error) {
	only := map[string]bool{}
	for _, id := range r.Only {
		only[id] = true
	}
	for _, q := range r.suite.Questions {
		if len(r.Only) > 0 && !only[q.ID] {
			continue
		}
		delete(only, q.ID)
		missing := false
		for _, at := range q.Needs {
			missing = missing || r.suite.Web.page(at) == nil
		}
		if missing {
			left = append(left, q.ID)
			continue
		}
		list = append(list, q)
	}
	for id := range only {
		return nil, nil, &client.Mistake{Why: fmt.Sprintf("there is no question %q in %s", id, r.suite.Dir)}
	}
	return list, left, nil
}

// key identifies the conditions of an answer. Local folders don't count, since any update changes them; only the pages
// opened for an answer do.
func (r *runner) key(q Question) string {
	b, err := json.Marshal([]string{q.Question, r.Model, r.Mode, r.Agent, r.Skill, r.suite.Web.own, r.Timeout.String()})
	if err != nil {
		return "" // strings can be written
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (r *runner) file(q Question) string { return filepath.Join(r.Out, "questions", q.ID+".json") }

// kept returns an earlier answer if it is still valid: failed ones are repeated. changed describes changes since.
func (r *runner) kept(q Question) (a Answer, ok bool, changed string, err error) {
	b, err := os.ReadFile(r.file(q))
	if errors.Is(err, fs.ErrNotExist) {
		return a, false, "", nil
	}
	if err != nil {
		return a, false, "", err
	}
	if json.Unmarshal(b, &a) != nil {
		return Answer{}, false, "the form of answers", nil // of another version
	}
	said := a.Status == string(client.Success) || a.Status == string(client.CutOff) || a.Status == string(client.Waiting)
	switch {
	case r.Again || !said:
		return a, false, "", nil
	case a.Key != r.key(q):
		return a, false, "the question, the pages or how it is asked", nil
	case a.Seen != r.suite.Web.sumOf(a.Opened):
		return a, false, "a page that it opened", nil
	}
	return a, true, "", nil
}

// keep atomically stores an answer.
func (r *runner) keep(q Question, a Answer) error { return writeJSON(r.file(q), a) }

func writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replace(name, append(b, '\n'))
}

// replace atomically writes a file.
func replace(name string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(name), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// question asks one question unless it is answered, and measures the answer.
func (r *runner) question(ctx context.Context, q Question) (Outcome, error) {
	a, ok, changed, err := r.kept(q)
	if err != nil {
		return Outcome{}, err
	}
	if !ok {
		if changed != "" {
			r.tell(fmt.Sprintf("· %s: asked again, as %s changed since", q.ID, changed))
		}
		if a, err = r.ask(ctx, q); err != nil {
			return Outcome{}, fmt.Errorf("question %s: %w", q.ID, err)
		}
		if ctx.Err() != nil {
			return Outcome{}, context.Cause(ctx)
		}
		if err := r.keep(q, a); err != nil {
			return Outcome{}, err
		}
	}
	m := Measure(r.suite.Web, q, a)
	if r.Judge != "" && a.Text != "" {
		if err := r.judge(ctx, q, &a, m); err != nil {
			return Outcome{}, fmt.Errorf("question %s: %w", q.ID, err)
		}
		if err := r.keep(q, a); err != nil {
			return Outcome{}, err
		}
		a.Judged.into(q, &m)
	}
	out := Outcome{Question: q, Answer: a, Measures: m, Kept: ok}
	r.tell(out.line())
	return out, nil
}

// tell prints a line of progress.
func (r *runner) tell(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.Progress, line)
}

// ask runs one question.
func (r *runner) ask(ctx context.Context, q Question) (Answer, error) {
	text := q.Question + alone
	if r.Skill != "" {
		text = "/" + r.Skill + " " + text
	}
	seen := &watcher{calls: map[string]string{}}
	files, err := os.MkdirTemp("", "fawn-eval-files-*")
	if err != nil {
		return Answer{}, err
	}
	defer os.RemoveAll(files)
	res, err := client.Run(ctx, r.Server, client.Task{Text: text, Model: r.Model, Mode: r.Mode, Agent: r.Agent,
		Timeout: r.Timeout, Watch: seen.event, Out: files}, client.Screen{Answer: io.Discard, Progress: io.Discard})
	if err != nil {
		return Answer{}, err
	}
	a := Answer{ID: q.ID, Key: r.key(q), Status: string(res.Status), Error: res.Error, Text: res.Answer, Opened: seen.opened,
		Searches: seen.searches, Usage: Usage(res.Usage), Seconds: res.Seconds, Thread: res.ThreadID}
	if a.Opened == nil {
		a.Opened = []Opened{}
	}
	a.Seen = r.suite.Web.sumOf(a.Opened)
	for _, f := range res.Artifacts {
		info, err := os.Stat(f.File)
		if err != nil || !strings.HasSuffix(f.Path, ".md") && !strings.HasSuffix(f.Path, ".txt") || info.Size() > maxReport {
			a.Other = append(a.Other, f.Path)
			continue
		}
		b, err := os.ReadFile(f.File)
		if err != nil {
			return a, err
		}
		if a.Reports == nil {
			a.Reports = map[string]string{}
		}
		a.Reports[f.Path] = strings.ToValidUTF8(string(b), "\uFFFD")
	}
	var spent struct {
		Cost     *float64 `json:"total_cost"`
		Currency *string  `json:"currency"`
	}
	err = r.Server.Call(ctx, http.MethodGet, "/api/threads/"+url.PathEscape(res.ThreadID)+"/token-usage", nil, &spent)
	var no *client.Refusal
	if err != nil && !errors.As(err, &no) && ctx.Err() == nil {
		return a, err
	}
	if a.Cost = spent.Cost; spent.Currency != nil {
		a.Currency = *spent.Currency
	}
	return a, nil
}

// watcher learns from the events of a run which pages it opened.
type watcher struct {
	calls    map[string]string // addresses of calls by id
	opened   []Opened
	searches int
}

// event is called by one goroutine.
func (w *watcher) event(event string, data []byte) {
	if event != "updates" && !strings.HasPrefix(event, "updates|") { // of helpers
		return
	}
	var nodes map[string]struct {
		Messages []struct {
			Type     string          `json:"type"`
			Name     string          `json:"name"`
			Status   string          `json:"status"`
			Call     string          `json:"tool_call_id"`
			Artifact json.RawMessage `json:"artifact"`
			Calls    []struct {
				ID   string         `json:"id"`
				Name string         `json:"name"`
				Args map[string]any `json:"args"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if json.Unmarshal(data, &nodes) != nil {
		return
	}
	for _, n := range nodes {
		for _, m := range n.Messages {
			for _, c := range m.Calls {
				if at, ok := c.Args["url"].(string); ok && c.Name == community.WebFetch {
					w.calls[c.ID] = at
				}
			}
			switch {
			case m.Type != "tool":
			case m.Name == community.WebSearch:
				w.searches++
			case m.Name == community.WebFetch:
				ok := m.Status != "error"
				if at := w.calls[m.Call]; at != "" {
					w.opened = append(w.opened, Opened{at, ok})
				}
				if art := community.ReadArtifact(m.Artifact); art != nil && ok {
					for _, s := range art.Sources {
						w.opened = append(w.opened, Opened{s.URL, true})
					}
				}
			}
		}
	}
}
