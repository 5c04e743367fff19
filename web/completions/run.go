package completions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/agent/runs/runevent"
	"fawn/web/httpx"
	"fawn/web/inproc"
	"fawn/web/once"
)

// usage counts the tokens of a run.
type usage struct {
	Input  int `json:"total_input_tokens"`
	Output int `json:"total_output_tokens"`
	Total  int `json:"total_tokens"`
}

// outcome is the result of a run.
type outcome struct {
	status string // status of the run
	reason string // why it stopped
	usage  usage
	failed string
	files  []string // addresses of files that it presented
}

// plan is the stored plan of a request with a key, which a repeated request follows.
type plan struct {
	At     place `json:"at"`
	Whole  bool  `json:"whole,omitempty"`  // all messages are sent, as the thread is new
	Branch bool  `json:"branch,omitempty"` // branches from the checkpoint of At
	Resume bool  `json:"resume,omitempty"` // the message answers a question of the agent
}

// start starts the run of a conversation, or finds the one started by a request with the same key.
func (s *Server) start(ctx context.Context, v *conversation) error {
	defer s.turn(v)()
	if !v.key.Given() {
		p, err := s.find(ctx, v)
		if err != nil {
			return err
		}
		return s.begin(ctx, v, p)
	}
	done, err := s.Keys.Turn(ctx, v.key)
	if err != nil {
		return err
	}
	defer done()
	claim, known, err := s.Keys.Lookup(ctx, v.key)
	if err != nil {
		return err
	}
	if !known { // the plan names the thread before it exists
		p, err := s.find(ctx, v)
		if err != nil {
			return err
		}
		b, err := agent.Encode(p)
		if err != nil {
			return err
		}
		if claim, _, err = s.Keys.Claim(ctx, v.key, b); err != nil {
			return err
		}
	}
	var p plan
	if err := json.Unmarshal(claim.Plan, &p); err != nil {
		return fmt.Errorf("read the run of an idempotency key: %w", err)
	}
	v.at, v.whole = p.At, p.Whole
	if claim.Done {
		v.run, v.before = claim.Run, true
		return s.there(ctx, v)
	}
	if err := s.begin(ctx, v, p); err != nil {
		var told *inproc.Refusal
		if errors.As(err, &told) && told.Status < http.StatusInternalServerError {
			s.Keys.Free(ctx, v.key)
		}
		return err
	}
	claim.Run = v.run
	s.Keys.Settle(ctx, v.key, claim, v.at.Thread)
	return nil
}

// there checks that the run of an earlier request is still stored.
func (s *Server) there(ctx context.Context, v *conversation) error {
	var told *inproc.Refusal
	err := s.API.Call(ctx, http.MethodGet, threadPath(v.at.Thread, "runs", v.run), nil, nil)
	if errors.As(err, &told) && told.Status == http.StatusNotFound {
		return once.Gone()
	}
	return err
}

// begin uploads files and starts the run. The run of a request with a key is started under a key, too: a server may stop
// between the run and the note about it.
func (s *Server) begin(ctx context.Context, v *conversation, p plan) error {
	body, err := v.body(p)
	if err != nil {
		return err
	}
	if v.aside { // it isn't listed
		if err := s.API.Call(ctx, http.MethodPost, mount+"/threads",
			map[string]any{"thread_id": v.at.Thread, "temporary": true, "if_exists": "do_nothing"}, nil); err != nil {
			return err
		}
	}
	if err := s.upload(ctx, v); err != nil {
		return err
	}
	var headers []string
	if v.key.Given() {
		headers = []string{once.Header, "completions-" + v.key.ID()}
	}
	answer, err := s.API.Request(ctx, http.MethodPost, threadPath(v.at.Thread, "runs"), "application/json", bytes.NewReader(body),
		inproc.MaxAnswer, headers...)
	if err != nil {
		return err
	}
	var r struct {
		ID string `json:"run_id"`
	}
	if err := inproc.Decode(answer, &r); err != nil {
		return err
	}
	v.run, v.before = r.ID, answer.Header().Get(once.Replayed) != ""
	here := place{Thread: v.at.Thread, Told: v.at.Told}
	if v.name != "" { // also if this answer is stopped
		if err := s.remember(ctx, v.keyOf(nil), here); err != nil {
			return err
		}
	}
	here.Model = v.model.ID // it can be fetched while it runs and if it fails
	return s.remember(ctx, responseKey(v.run), here)
}

// failed returns the reason for the failure of a run with this status, "" if it didn't fail.
func failed(status string, why *string) string {
	switch {
	case status != runs.Failed && status != runs.Timeout:
		return ""
	case why != nil && *why != "":
		return *why
	}
	return "the run failed"
}

// teller streams a run to a client. Errors are those of the connection.
type teller interface {
	thinks(text string) error
	says(text string) error
	flush() error
}

// follow streams a run to its end and returns its text. A client that disconnects ends the run, since OpenAI's API has
// no other way to stop it, unless the request has a key for resuming.
func (s *Server) follow(c echo.Context, v *conversation, t teller) (said string, err error) {
	ctx, done := httpx.Until(c.Request().Context(), s.Draining, runs.ErrClosed)
	defer done()
	defer func() {
		if c.Request().Context().Err() != nil && !v.key.Given() {
			ctx := context.WithoutCancel(c.Request().Context())
			if s.API.Call(ctx, http.MethodPost, threadPath(v.at.Thread, "runs", v.run, "cancel"), nil, nil) != nil {
				return // it has ended
			}
		}
	}()
	reader, err := s.Runs.Follow(ctx, v.run)
	if err != nil {
		return "", err
	}
	w := &words{teller: t, steps: s.Config().File.OpenAIAPI.Steps != "hidden", void: map[string]bool{}}
	for at := int64(0); ; {
		events, err := reader.Next(ctx, at)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return w.all.String(), err
		}
		for _, ev := range events { // report answers cut off by a crash first
			if ev.Kind == runevent.KindWithdraw {
				w.withdraw(runevent.Withdrawn(ev))
			}
		}
		for _, ev := range events {
			if at = ev.To; ev.Kind == runevent.KindEnd {
				return w.all.String(), t.flush()
			}
			if err := w.event(ev); err != nil {
				return w.all.String(), err
			}
		}
		if len(events) == 0 { // rolled back
			return w.all.String(), nil
		}
		if err := t.flush(); err != nil {
			return w.all.String(), err
		}
	}
}

// words converts events to a client's text: the agent's messages, separated by empty lines, and its thoughts and steps.
type words struct {
	teller
	steps bool // steps are shown
	all   strings.Builder
	id    string          // id of the growing message
	void  map[string]bool // withdrawn messages
}

// withdraw drops a message from now on. Text already sent stays.
func (w *words) withdraw(id string) { w.void[id] = true }

func (w *words) event(ev runevent.Event) error {
	switch {
	case ev.NS != "", ev.Msg != nil && w.void[ev.Msg.ID]:
	case ev.Kind == runevent.KindText:
		text := ev.Text
		if w.all.Len() > 0 && ev.Msg.ID != w.id {
			text = "\n\n" + text
		}
		w.id = ev.Msg.ID
		w.all.WriteString(text)
		return w.says(text)
	case ev.Kind == runevent.KindReasoning && w.steps:
		return w.thinks(ev.Text)
	case ev.Kind == runevent.KindToolStart && w.steps:
		var call agent.ToolCall
		if json.Unmarshal(ev.Data, &call) == nil {
			return w.thinks("\n" + call.Line() + "\n")
		}
	}
	return nil
}

// settled reads the outcome of a run and records the position of its conversation. It adds a question of the agent and
// links to the presented files to the text.
func (s *Server) settled(c echo.Context, v *conversation, said string) (text string, o outcome, err error) {
	ctx := context.WithoutCancel(c.Request().Context())
	before := v.at
	var row struct {
		usage
		Status string  `json:"status"`
		Reason *string `json:"stop_reason"`
		Error  *string `json:"error"`
	}
	if err := s.API.Call(ctx, http.MethodGet, threadPath(v.at.Thread, "runs", v.run), nil, &row); err != nil {
		return said, o, err
	}
	o.status, o.usage = row.Status, row.usage
	if row.Reason != nil {
		o.reason = *row.Reason
	}
	if o.failed = failed(row.Status, row.Error); o.failed != "" {
		return said, o, nil
	}
	st, there, err := s.state(ctx, v.at.Thread)
	if err == nil && there && st.Metadata.Run != v.run { // another run has continued since
		var own []state
		err = s.API.Call(ctx, http.MethodPost, threadPath(v.at.Thread, "history"),
			map[string]any{"limit": 1, "metadata": map[string]string{"run_id": v.run}}, &own)
		if there = len(own) > 0; there {
			st = own[0]
		}
	}
	if err != nil || !there {
		return said, o, err
	}
	text = said
	if question := st.Interrupts.Text(); question != "" && !strings.HasSuffix(said, question) {
		text = joined(text, question)
	}
	known := map[string]bool{}
	for _, path := range before.Artifacts {
		known[path] = true
	}
	for _, path := range st.Values.Artifacts {
		if !known[path] {
			o.files = append(o.files, "["+path[strings.LastIndexByte(path, '/')+1:]+"]("+httpx.Root(c.Request())+"/api"+
				strings.TrimPrefix(threadPath(v.at.Thread), mount)+"/artifacts"+pathEscaped(path)+")")
		}
	}
	if len(o.files) > 0 {
		text = joined(text, strings.Join(o.files, "\n"))
	}
	v.at = place{Thread: v.at.Thread, Last: st.last(), Told: cmp.Or(v.told, v.at.Told)}
	if st.Checkpoint != nil {
		v.at.Checkpoint = st.Checkpoint.ID
	}
	answered := append(append(append([]message{}, v.past...), v.new...), message{Role: "assistant", text: text})
	keys := []string{v.keyOf(answered)}
	if v.aside {
		keys = nil
	}
	if v.name != "" {
		keys = append(keys, v.keyOf(nil))
	}
	for _, key := range keys {
		err = errors.Join(err, s.remember(ctx, key, v.at))
	}
	response := v.at
	response.Text, response.Model = text, v.model.ID
	return text, o, errors.Join(err, s.remember(ctx, responseKey(v.run), response))
}

// joined appends a paragraph to a text.
func joined(text, more string) string {
	if text == "" || more == "" {
		return text + more
	}
	return text + "\n\n" + more
}

// stamp formats a time for OpenAI's API.
func stamp(t time.Time) int64 { return t.Unix() }
