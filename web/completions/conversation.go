package completions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"fawn/web/inproc"
)

// kept is how many minutes a conversation is recognised after its last message.
const kept = 90 * 24 * 60

// namespace of the store has the threads of conversations by their keys.
var namespace = []string{"fawn", "conversations"}

// place is where in a thread a conversation stands.
type place struct {
	Thread     string `json:"thread"`
	Checkpoint string `json:"checkpoint"`
	Last       string `json:"last"` // id of the thread's last message, then

	artifacts []string // presented before, when a run begins here
}

// conversation is what one request is about.
type conversation struct {
	model modelJSON
	user  string
	name  string    // that the client gave it, "" for none
	past  []message // up to the last answer
	new   []message

	at  place
	run string
}

// divide splits messages behind the last answer.
func divide(all []message) (past, added []message, err error) {
	last := 0
	for i, m := range all {
		if m.Role == "assistant" {
			last = i + 1
		}
	}
	if last == len(all) {
		return nil, nil, invalid("messages", "the last message is an answer: want one of the user behind it")
	}
	return all[:last], all[last:], nil
}

// key stands for messages, in the order they have. Answers count without the space around them, which clients trim.
func (v *conversation) key(list []message) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	said := []any{v.model.ID, v.user, v.name}
	for _, m := range list {
		if m.Role == "" {
			continue
		}
		said = append(said, m.Role, strings.TrimSpace(m.text), m.images, len(m.files))
	}
	if err := enc.Encode(said); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// threadPath is the path of what is below a thread.
func threadPath(thread string, parts ...string) string {
	path := mount + "/threads/" + url.PathEscape(thread)
	for _, p := range parts {
		path += "/" + url.PathEscape(p)
	}
	return path
}

// recall reads where a key leads; false for nowhere.
func (s *Server) recall(ctx context.Context, key string) (place, bool, error) {
	var item struct{ Value place }
	q := url.Values{"namespace": {strings.Join(namespace, ".")}, "key": {key}}
	err := s.API.Call(ctx, http.MethodGet, mount+"/store/items?"+q.Encode(), nil, &item)
	var told *inproc.Refusal
	if errors.As(err, &told) && told.Status == http.StatusNotFound {
		return place{}, false, nil
	}
	return item.Value, err == nil && item.Value.Thread != "", err
}

// remember writes where a key leads from now on.
func (s *Server) remember(ctx context.Context, key string, p place) error {
	return s.API.Call(ctx, http.MethodPut, mount+"/store/items",
		map[string]any{"namespace": namespace, "key": key, "value": p, "ttl": kept}, nil)
}

// state is what is read of a thread's.
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
	Metadata struct {
		Run string `json:"run_id"`
	} `json:"metadata"`
}

// last is the id of the last message.
func (st *state) last() string {
	if n := len(st.Values.Messages); n > 0 {
		return st.Values.Messages[n-1].ID
	}
	return ""
}

// state reads a thread; false when it is gone.
func (s *Server) state(ctx context.Context, thread string) (st state, there bool, err error) {
	err = s.API.Call(ctx, http.MethodGet, threadPath(thread, "state"), nil, &st)
	var told *inproc.Refusal
	if errors.As(err, &told) && told.Status == http.StatusNotFound {
		return st, false, nil
	}
	return st, err == nil, err
}

// find decides where the conversation goes on, and with which of its messages. An earlier place of a thread that has
// gone on since is a branch; a conversation that nobody knows begins a thread with all of its messages.
func (s *Server) find(ctx context.Context, v *conversation) (body map[string]any, err error) {
	body = map[string]any{"assistant_id": v.model.assistant, "multitask_strategy": "enqueue",
		"metadata": map[string]string{"source": "openai_api"}}
	if v.model.chosen != "" {
		body["context"] = map[string]string{"model_name": v.model.chosen}
	}
	messages, known := v.new, v.at.Thread != ""
	if !known && len(v.past) > 0 {
		if v.at, known, err = s.recall(ctx, v.key(v.past)); err != nil {
			return nil, err
		}
	}
	if !known && v.name != "" { // the client has changed what was said, or leaves it out
		if v.at, known, err = s.recall(ctx, v.key(nil)); err != nil {
			return nil, err
		}
		v.at.Checkpoint = ""
	}
	var st state
	if known {
		if st, known, err = s.state(ctx, v.at.Thread); err != nil {
			return nil, err
		}
	}
	v.at.artifacts = st.Values.Artifacts
	switch {
	case !known:
		v.at = place{Thread: uuid.Must(uuid.NewV7()).String()}
		messages = append(append([]message{}, v.past...), v.new...)
	case v.at.Checkpoint != "" && st.last() != v.at.Last:
		body["checkpoint"] = map[string]string{"thread_id": v.at.Thread, "checkpoint_id": v.at.Checkpoint}
	case len(st.Interrupts) > 0:
		body["command"] = map[string]any{"resume": v.new[len(v.new)-1].text}
	}
	if body["command"] == nil {
		list := []any{}
		for _, m := range messages {
			if m.Role != "" {
				list = append(list, m.sent())
			}
		}
		body["input"] = map[string]any{"messages": list}
	}
	return body, nil
}

// pathEscaped is an absolute path as part of an address.
func pathEscaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// responseKey leads to the place behind a response.
func responseKey(run string) string { return "response-" + run }
