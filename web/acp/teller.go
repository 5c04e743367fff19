package acp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"fawn/web/client"
)

// maxShown limits the shown part of a result, in bytes.
const maxShown = 32 << 10

// state is the part of a thread's state that is read here.
type state struct {
	Values struct {
		Messages  []spoken `json:"messages"`
		Artifacts []string `json:"artifacts"`
		Title     string   `json:"title"`
		Todos     []todo   `json:"todos"`
	} `json:"values"`
	Tasks []struct {
		Interrupts []struct {
			Value struct {
				Question string `json:"question"`
				Context  string `json:"context"`
				Options  []struct {
					Label string `json:"label"`
					Value string `json:"value"`
				} `json:"options"`
			} `json:"value"`
		} `json:"interrupts"`
	} `json:"tasks"`
}

// question returns the thread's open question, "" for none.
func (s state) question() string {
	var b strings.Builder
	for _, task := range s.Tasks {
		for _, in := range task.Interrupts {
			if in.Value.Context != "" {
				b.WriteString(in.Value.Context + "\n\n")
			}
			b.WriteString(in.Value.Question)
			for i, o := range in.Value.Options {
				if i == 0 {
					b.WriteString("\n")
				}
				label := o.Label
				if label == "" {
					label = o.Value
				}
				b.WriteString("\n- " + label)
			}
		}
	}
	return b.String()
}

type todo struct {
	Content string `json:"content"`
	Title   string `json:"title"`
	Status  string `json:"status"`
}

// spoken is a message, or part of one.
type spoken struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
	Status  string          `json:"status"`
	CallID  string          `json:"tool_call_id"`
	More    struct {
		Reasoning string `json:"reasoning_content"`
		Hidden    bool   `json:"hide_from_ui"`
	} `json:"additional_kwargs"`
	Calls []struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tool_calls"`
}

// part is one of the parts of a content.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func (m spoken) parts() []part {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return []part{{Type: "text", Text: text}}
	}
	var list []part
	if json.Unmarshal(m.Content, &list) != nil {
		return nil
	}
	return list
}

func (m spoken) text() string {
	var b strings.Builder
	for _, p := range m.parts() {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// teller reports the events of a session to an editor.
type teller struct {
	e       *editor
	s       *session
	ctx     context.Context // for sending updates
	server  client.Server
	run     string
	working context.Context // for calls executed by this side
	work    sync.WaitGroup

	mu      sync.Mutex
	err     error
	all     strings.Builder               // the agent's text
	growing string                        // id of the growing message
	whole   map[string]bool               // messages already sent
	calls   map[sdk.ToolCallId]*performed // announced calls
}

// performed is a call announced to the editor.
type performed struct {
	over   bool
	shown  bool // its content exceeds its result
	ours   bool // this side executes it
	ids    []string
	result *answer
	cancel context.CancelFunc
}

// answer is a result in the form of the API.
type answer struct {
	Content string `json:"content"`
	IsError bool   `json:"is_error"`
}

func (e *editor) teller(ctx context.Context, s *session) *teller {
	return &teller{e: e, s: s, ctx: context.WithoutCancel(ctx), whole: map[string]bool{},
		calls: map[sdk.ToolCallId]*performed{}}
}

// tell sends an update. After a failure nothing more is sent.
func (t *teller) tell(u sdk.SessionUpdate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.e.conn.SessionUpdate(t.ctx, sdk.SessionNotification{SessionId: t.s.id, Update: u})
	}
}

func (t *teller) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *teller) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}

// says sends a piece of an answer. Messages are separated by an empty line.
func (t *teller) says(id, text string) {
	if text == "" {
		return
	}
	t.mu.Lock()
	if t.growing != "" && t.growing != id {
		text = "\n\n" + text
	}
	t.growing = id
	t.all.WriteString(text)
	t.mu.Unlock()
	t.tell(sdk.UpdateAgentMessageText(text))
}

// event handles an event of the run's stream.
func (t *teller) event(name string, data []byte) {
	switch name {
	case "messages":
		var frame []json.RawMessage
		var m spoken
		if json.Unmarshal(data, &frame) == nil && len(frame) > 0 && json.Unmarshal(frame[0], &m) == nil {
			t.message(m)
		}
	case "updates":
		var nodes map[string]json.RawMessage
		if json.Unmarshal(data, &nodes) != nil {
			return
		}
		for _, raw := range nodes {
			var n struct {
				Messages []spoken `json:"messages"`
				Todos    []todo   `json:"todos"`
			}
			if json.Unmarshal(raw, &n) == nil { // otherwise an interrupt, which the state contains too
				for _, m := range n.Messages {
					t.called(m)
				}
				t.plan(n.Todos)
			}
		}
	case "custom":
		t.custom(data)
	}
}

// message handles a piece of an answer, or a result.
func (t *teller) message(m spoken) {
	switch m.Type {
	case "AIMessageChunk":
		t.whole[m.ID] = true
	case "ai": // a message that wasn't streamed
		if t.whole[m.ID] {
			return
		}
		t.whole[m.ID] = true
	case "tool":
		t.result(m)
		return
	default:
		return
	}
	if m.More.Reasoning != "" {
		t.tell(sdk.UpdateAgentThoughtText(m.More.Reasoning))
	}
	t.says(m.ID, m.text())
}

// called announces the calls of a message.
func (t *teller) called(m spoken) {
	for _, c := range m.Calls {
		t.start(sdk.ToolCallId(c.ID), c.Name, c.Args, sdk.ToolCallStatusInProgress)
	}
	if m.Type == "tool" {
		t.result(m)
	}
}

// start announces a call, once.
func (t *teller) start(id sdk.ToolCallId, name string, args json.RawMessage, status sdk.ToolCallStatus) {
	t.mu.Lock()
	known := t.calls[id] != nil
	if !known {
		t.calls[id] = &performed{}
	}
	t.mu.Unlock()
	if known || id == "" {
		return
	}
	opts := []sdk.ToolCallStartOpt{sdk.WithStartKind(kindOf(name)), sdk.WithStartStatus(status)}
	var a map[string]any
	if json.Unmarshal(args, &a) == nil {
		opts = append(opts, sdk.WithStartRawInput(a))
	}
	if at := t.location(name, a); at != nil {
		opts = append(opts, sdk.WithStartLocations([]sdk.ToolCallLocation{*at}))
	}
	t.tell(sdk.StartToolCall(id, titleOf(name, a), opts...))
}

// location returns where in the project a call works.
func (t *teller) location(name string, a map[string]any) *sdk.ToolCallLocation {
	p, _ := a["path"].(string)
	if !strings.HasPrefix(name, "editor_") || p == "" || name == toolRun {
		return nil
	}
	at, err := t.s.place(p)
	if err != nil {
		return nil
	}
	out := &sdk.ToolCallLocation{Path: at}
	if line, ok := a["line"].(float64); ok && line >= 1 && line < 1<<31 {
		out.Line = sdk.Ptr(int(line))
	}
	return out
}

// shown marks a call as having more content than its result.
func (t *teller) shown(id sdk.ToolCallId) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.calls[id]; c != nil {
		c.shown = true
	}
}

// result reports a call's result, once.
func (t *teller) result(m spoken) {
	id := sdk.ToolCallId(m.CallID)
	t.mu.Lock()
	c := t.calls[id]
	if c == nil || c.over {
		t.mu.Unlock()
		return
	}
	c.over = true
	shown := c.shown
	t.mu.Unlock()
	status := sdk.ToolCallStatusCompleted
	if m.Status == "error" {
		status = sdk.ToolCallStatusFailed
	}
	opts := []sdk.ToolCallUpdateOpt{sdk.WithUpdateStatus(status)}
	if text := m.text(); text != "" && (!shown || m.Status == "error") {
		if len(text) > maxShown {
			text = strings.ToValidUTF8(text[:maxShown], "") + "…"
		}
		opts = append(opts, sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}))
	}
	t.tell(sdk.UpdateToolCall(id, opts...))
}

// unfinished marks calls without a result as ended.
func (t *teller) unfinished() {
	t.mu.Lock()
	var open []sdk.ToolCallId
	for id, c := range t.calls {
		if !c.over {
			c.over = true
			open = append(open, id)
		}
	}
	t.mu.Unlock()
	slices.Sort(open)
	for _, id := range open {
		t.tell(sdk.UpdateToolCall(id, sdk.WithUpdateStatus(sdk.ToolCallStatusFailed)))
	}
}

func (t *teller) plan(list []todo) {
	if len(list) == 0 {
		return
	}
	entries := make([]sdk.PlanEntry, len(list))
	for i, d := range list {
		entries[i] = sdk.PlanEntry{Content: d.Content, Priority: sdk.PlanEntryPriorityMedium,
			Status: sdk.PlanEntryStatusPending}
		if d.Content == "" {
			entries[i].Content = d.Title
		}
		switch d.Status {
		case "in_progress":
			entries[i].Status = sdk.PlanEntryStatusInProgress
		case "completed":
			entries[i].Status = sdk.PlanEntryStatusCompleted
		}
	}
	t.tell(sdk.UpdatePlan(entries...))
}

// past replays an existing conversation.
func (t *teller) past(s state) {
	for _, m := range s.Values.Messages {
		switch m.Type {
		case "human":
			if m.More.Hidden {
				continue
			}
			t.growing = ""
			for _, p := range m.parts() {
				mime, data, ok := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
				switch {
				case p.Type == "text" && p.Text != "":
					t.tell(sdk.UpdateUserMessageText(p.Text))
				case p.Type == "image_url" && ok:
					t.tell(sdk.UpdateUserMessage(sdk.ImageBlock(data, mime)))
				}
			}
		case "ai":
			if m.More.Reasoning != "" {
				t.tell(sdk.UpdateAgentThoughtText(m.More.Reasoning))
			}
			t.says(m.ID, m.text())
			t.called(m)
		case "tool":
			t.result(m)
		}
	}
	t.unfinished()
	t.plan(s.Values.Todos)
	if s.Values.Title != "" {
		t.tell(sdk.SessionUpdate{SessionInfoUpdate: &sdk.SessionSessionInfoUpdate{SessionUpdate: "session_info_update",
			Title: &s.Values.Title}})
	}
}

// calling is a call that the server has this side carry out.
type calling struct {
	Board string          `json:"id"`
	ID    sdk.ToolCallId  `json:"tool_call_id"`
	Name  string          `json:"name"`
	Args  json.RawMessage `json:"args"`
}

// custom handles a call for this side, or a question for the person.
func (t *teller) custom(data []byte) {
	var e struct {
		Type string `json:"type"`
		calling
		question
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "client_tool_call":
		t.carryOut(e.calling)
	case "client_tool_over":
		t.mu.Lock()
		defer t.mu.Unlock()
		if c := t.calls[e.calling.ID]; c != nil && c.cancel != nil && len(c.ids) > 0 && c.ids[len(c.ids)-1] == e.Board {
			c.cancel() // no result is needed any more
		}
	case "network_question":
		t.work.Go(func() { t.connects(t.working, e.question) })
	case "mcp_question":
		e.question.ID = e.Board
		t.work.Go(func() { t.form(t.working, e.question) })
	}
}

// carryOut runs a call. A call repeated by the server after a restart runs once and gets the same result.
func (t *teller) carryOut(c calling) {
	t.start(c.ID, c.Name, c.Args, sdk.ToolCallStatusInProgress)
	t.mu.Lock()
	known := t.calls[c.ID]
	if slices.Contains(known.ids, c.Board) {
		t.mu.Unlock()
		return
	}
	known.ids = append(known.ids, c.Board)
	done := known.result
	if known.ours && done == nil {
		t.mu.Unlock()
		return // send it to the newest once it exists
	}
	known.ours = true
	ctx, cancel := context.WithCancel(t.working)
	known.cancel = cancel
	t.mu.Unlock()
	t.work.Go(func() {
		defer cancel()
		if done == nil {
			text, err := t.perform(ctx, c)
			done = &answer{Content: text}
			if err != nil {
				done = &answer{Content: "Error: " + err.Error(), IsError: true}
			}
		}
		t.mu.Lock()
		known.result = done
		at := known.ids[len(known.ids)-1]
		t.mu.Unlock()
		t.post("/client-tools/"+url.PathEscape(at), done)
		r := spoken{CallID: string(c.ID), Status: "success"}
		if done.IsError {
			r.Status = "error"
		}
		if r.Content, _ = json.Marshal(done.Content); ctx.Err() == nil { // a text always encodes
			t.result(r)
		}
	})
}

// attempts is the number of times an answer is sent before giving up, with pauses in between.
const (
	attempts = 5
	pause    = time.Second
)

// post sends an answer to the server, which may be unreachable for a moment.
func (t *teller) post(rest string, body any) {
	for n := range attempts {
		err := t.server.Call(t.working, http.MethodPost, "/api"+t.s.path(rest), body, nil)
		var refused *client.Refusal
		if err == nil || t.working.Err() != nil {
			return
		}
		if errors.As(err, &refused) && refused.Status < 500 {
			if refused.Status != http.StatusNotFound && refused.Status != http.StatusConflict {
				t.e.Log.Error("server rejected a result", "session", t.s.id, "err", err)
			}
			return
		}
		t.e.Log.Warn("couldn't deliver a result to the server", "session", t.s.id, "attempt", n+1, "err", err)
		select {
		case <-time.After(pause):
		case <-t.working.Done():
		}
	}
}

// kindOf sorts tools as editors do.
func kindOf(name string) sdk.ToolKind {
	switch name {
	case toolRead, "read_file", "view_image", "list_uploaded_files":
		return sdk.ToolKindRead
	case toolWrite, toolEdit, "write_file", "str_replace":
		return sdk.ToolKindEdit
	case toolList, toolSearch, "ls", "glob", "grep", "search_documents", "tool_search":
		return sdk.ToolKindSearch
	case toolRun, "bash":
		return sdk.ToolKindExecute
	case "web_fetch", "web_search", "image_search":
		return sdk.ToolKindFetch
	case "write_todos", "task":
		return sdk.ToolKindThink
	}
	return sdk.ToolKindOther
}

// titleOf returns a call in a line.
func titleOf(name string, args map[string]any) string {
	verbs := map[string]string{toolRead: "Read", toolWrite: "Write", toolEdit: "Edit", toolList: "List files of",
		toolSearch: "Search for", toolRun: "Run"}
	for _, key := range []string{"command", "pattern", "description", "query", "url", "path", "question"} {
		text, _ := args[key].(string)
		if text = strings.Join(strings.Fields(text), " "); text == "" {
			continue
		}
		if utf8.RuneCountInString(text) > 100 {
			text = string([]rune(text)[:99]) + "…"
		}
		switch {
		case key == "command" || key == "pattern":
			text = "`" + text + "`"
		case key == "path" && verbs[name] == "":
			text = path.Base(text)
		}
		if verb := verbs[name]; verb != "" {
			return verb + " " + text
		}
		return name + ": " + text
	}
	if name == toolList {
		return "List files"
	}
	return name
}
