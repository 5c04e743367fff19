package completions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/web/inproc"
	"fawn/web/once"
)

// kept is the time in minutes for which a conversation is recognized after its last message.
const kept = 90 * 24 * 60

// namespace of the store has the threads of conversations by their keys.
var namespace = []string{"fawn", "conversations"}

// place is a conversation's position in a thread.
type place struct {
	Thread     string `json:"thread"`
	Checkpoint string `json:"checkpoint"`
	Last       string `json:"last"`           // id of the thread's last message at that time
	Told       string `json:"told,omitempty"` // instructions of the thread
	Text       string `json:"text,omitempty"` // text of the response before this point
	Model      string `json:"model,omitempty"`

	Artifacts []string `json:"artifacts,omitempty"` // files presented before, if a run begins here
}

// conversation is the conversation of one request.
type conversation struct {
	model modelJSON
	user  string
	name  string    // name given by the client, "" for none
	told  string    // instructions
	key   once.Key  // key of a request that may be repeated
	aside bool      // the client's own question about a conversation, for example to title it
	past  []message // messages up to the last answer
	new   []message

	at     place
	run    string
	whole  bool // sent contains the whole conversation
	before bool // an earlier request with the key began the run
}

// tell sets the headers with the thread and the run.
func (v *conversation) tell(h http.Header) {
	h.Set("X-Thread-Id", v.at.Thread)
	h.Set("X-Run-Id", v.run)
	if v.before {
		h.Set(once.Replayed, "true")
	}
}

// isAside reports whether a request is a client's own: for a title, tags or suggestions of a conversation that it
// quotes in a single message. They begin as Open WebUI and LibreChat write them.
func isAside(list []message) bool {
	if len(list) != 1 || !list[0].plain() {
		return false
	}
	text := strings.TrimSpace(list[0].text)
	return strings.HasPrefix(text, "### Task:") && strings.Contains(text, "<chat_history>") ||
		strings.HasPrefix(text, "Provide a concise, 5-word-or-less title for the conversation") ||
		strings.HasPrefix(text, "Analyze this conversation and provide:")
}

// divide splits messages after the last answer.
func divide(all []message) (past, added []message, err error) {
	last := 0
	for i, m := range all {
		if m.Role == "assistant" {
			last = i + 1
		}
	}
	if !slices.ContainsFunc(all[last:], func(m message) bool { return m.Role != "" }) {
		return nil, nil, invalid("messages", "the last message is an answer: want one of the user behind it")
	}
	return all[:last], all[last:], nil
}

// keyOf identifies a sequence of messages. Answers are compared by words, since clients trim and rejoin them.
func (v *conversation) keyOf(list []message) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	said := []any{v.model.ID, v.user, v.name}
	for _, m := range list {
		if m.Role == "" {
			continue
		}
		text := m.text
		if m.Role == "assistant" {
			text = strings.Join(strings.Fields(text), " ")
		}
		said = append(said, m.Role, text, m.images)
		for _, f := range m.files {
			sum := sha256.Sum256(f.data)
			said = append(said, f.name, sum[:])
		}
	}
	if err := enc.Encode(said); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sent returns the messages that the run gets.
func (v *conversation) sent() []message {
	if v.whole {
		return append(append([]message{}, v.past...), v.new...)
	}
	return v.new
}

// threadPath returns a path below a thread.
func threadPath(thread string, parts ...string) string {
	path := mount + "/threads/" + url.PathEscape(thread)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// recall reads where a key leads; false for nowhere.
func (s *Server) recall(ctx context.Context, key string) (place, bool, error) {
	var item struct{ Value json.RawMessage }
	q := url.Values{"namespace": {strings.Join(namespace, ".")}, "key": {key}}
	err := s.API.Call(ctx, http.MethodGet, mount+"/store/items?"+q.Encode(), nil, &item)
	var told *inproc.Refusal
	if errors.As(err, &told) && told.Status == http.StatusNotFound {
		return place{}, false, nil
	}
	var p place
	if err != nil || json.Unmarshal(item.Value, &p) != nil { // the user may write there, too
		return place{}, false, err
	}
	return p, p.Thread != "", nil
}

// remember writes where a key leads from now on.
func (s *Server) remember(ctx context.Context, key string, p place) error {
	return s.API.Call(ctx, http.MethodPut, mount+"/store/items",
		map[string]any{"namespace": namespace, "key": key, "value": p, "ttl": kept}, nil)
}

// state holds the members of a thread's state that are read.
type state struct {
	Values struct {
		Messages []struct {
			ID      string          `json:"id"`
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Artifacts []string `json:"artifacts"`
	} `json:"values"`
	Checkpoint *struct {
		ID string `json:"checkpoint_id"`
	} `json:"checkpoint"`
	Interrupts inproc.Interrupts `json:"interrupts"`
	Metadata   struct {
		Run string `json:"run_id"`
	} `json:"metadata"`
}

// last returns the id of the last message.
func (st *state) last() string {
	if n := len(st.Values.Messages); n > 0 {
		return st.Values.Messages[n-1].ID
	}
	return ""
}

// state reads a thread; false if it is gone.
func (s *Server) state(ctx context.Context, thread string) (st state, there bool, err error) {
	err = s.API.Call(ctx, http.MethodGet, threadPath(thread, "state"), nil, &st)
	var told *inproc.Refusal
	if errors.As(err, &told) && told.Status == http.StatusNotFound {
		return st, false, nil
	}
	return st, err == nil, err
}

// find determines the thread and the new messages of a conversation. An earlier place of a thread that has continued
// since is a branch; an unknown conversation starts a thread with all of its messages.
func (s *Server) find(ctx context.Context, v *conversation) (p plan, err error) {
	known, asked := v.at.Thread != "", v.at.Thread != ""
	if !known && len(v.past) > 0 {
		if v.at, known, err = s.recall(ctx, v.keyOf(v.past)); err != nil {
			return p, err
		}
	}
	if !known && v.name != "" { // the client changed or dropped earlier messages
		if v.at, known, err = s.recall(ctx, v.keyOf(nil)); err != nil {
			return p, err
		}
		v.at.Checkpoint = ""
	}
	var st state
	if known {
		if st, known, err = s.state(ctx, v.at.Thread); err != nil {
			return p, err
		}
	}
	v.at.Artifacts = st.Values.Artifacts
	switch {
	case !known && asked:
		return p, invalid("previous_response_id", "the conversation of that response was deleted")
	case !known:
		v.at = place{Thread: uuid.Must(uuid.NewV7()).String()}
		v.whole = true
	case v.at.Checkpoint != "" && (st.last() != v.at.Last || s.busy(ctx, v.at.Thread)):
		p.Branch = true
		var then state
		if s.API.Call(ctx, http.MethodGet, threadPath(v.at.Thread, "state", v.at.Checkpoint), nil, &then) == nil {
			v.at.Artifacts = then.Values.Artifacts
		}
	case len(st.Interrupts) > 0 && len(v.new) == 1 && v.new[0].plain():
		p.Resume = true
	}
	p.At, p.Whole = v.at, v.whole
	return p, nil
}

// body returns the request for a run, combining a plan and the conversation's own request.
func (v *conversation) body(p plan) (json.RawMessage, error) {
	v.at, v.whole = p.At, p.Whole
	body := map[string]any{"assistant_id": v.model.assistant, "multitask_strategy": "enqueue",
		"metadata": map[string]string{"source": "openai_api"}}
	if v.model.chosen != "" {
		body["context"] = map[string]string{"model_name": v.model.chosen}
	}
	if p.Branch {
		body["checkpoint"] = map[string]string{"thread_id": p.At.Thread, "checkpoint_id": p.At.Checkpoint}
	}
	if p.Resume && len(v.new) > 0 {
		body["command"] = map[string]any{"resume": v.new[0].text}
		return agent.Encode(body)
	}
	list := []any{}
	for _, m := range v.sent() {
		if m.Role != "" {
			list = append(list, m.sent())
		}
	}
	body["input"] = map[string]any{"messages": list}
	return agent.Encode(body)
}

// busy reports whether a run of a thread works or waits: another message of the same place is a branch then.
func (s *Server) busy(ctx context.Context, thread string) bool {
	var row struct{ Status string }
	return s.API.Call(ctx, http.MethodGet, threadPath(thread), nil, &row) == nil && row.Status == runs.Busy
}

// plain reports whether a message is only text of the user, which can answer a question.
func (m *message) plain() bool {
	return m.Role == "user" && m.text != "" && len(m.images)+len(m.files) == 0
}

// pathEscaped returns an absolute path as part of an address.
func pathEscaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// responseKey identifies the place after a response.
func responseKey(run string) string { return "response-" + run }
