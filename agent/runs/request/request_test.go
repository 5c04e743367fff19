package request_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/runs/request"
)

// FuzzPrepare: whatever a client sends is read or refused as its own mistake, and what is stored of a
// request has no secret in it and is accepted again.
func FuzzPrepare(f *testing.F) {
	for _, body := range []string{
		`{"input":{"messages":[{"type":"human","content":"hi"}]},"context":{"secrets":{"KEY":"value"}}}`,
		`{"input":"hi","command":{"resume":"yes","update":[["title","T"]],"goto":["tools","__end__"]}}`,
		`{"config":{"recursion_limit":7,"configurable":{"mode":"pro","secrets":{"A":"value"}},"context":{"a":1}}}`,
		`{"checkpoint":{"checkpoint_id":"c","thread_id":"t"},"after_seconds":3,"multitask_strategy":"rollback"}`,
		`{"metadata":[1],"on_recursion_limit":"never","stream_mode":["values"],"interrupt_before":"*"}`,
		`{"config":1,"context":[],"after_seconds":-1,"durability":"exit","checkpoint_during":false}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var r request.Request
		if json.Unmarshal([]byte(body), &r) != nil {
			return
		}
		in, cmd, err := r.Prepare()
		if err != nil {
			if !errors.Is(err, request.ErrInput) {
				t.Fatalf("%s: %v", body, err)
			}
			return
		}
		if in.Given && cmd.Given {
			t.Fatalf("%s: both an input and a command are carried out", body)
		}
		stored := must.Get(json.Marshal(r))(t)
		if hasSecrets(r.Context) || hasSecrets(member(r.Config, "context")) ||
			hasSecrets(member(r.Config, "configurable")) {
			t.Fatalf("secrets are stored: %s", stored)
		}
		var again request.Request
		must.Do(t, json.Unmarshal(stored, &again))
		if now, then, err := again.Parse(); err != nil || now.Given != in.Given || then.Given != cmd.Given {
			t.Fatalf("%s is stored as %s: %v", body, stored, err)
		}
	})
}

func hasSecrets(raw json.RawMessage) bool { return member(raw, "secrets") != nil }

// member is one of an object, nil when it has none of that name or is no object.
func member(raw json.RawMessage, name string) json.RawMessage {
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return nil
	}
	return obj[name]
}

func TestWhatIsWrongWithARequestIsSaid(t *testing.T) {
	for body, want := range map[string]string{
		`{"metadata":[1]}`:                     "metadata must be an object",
		`{"multitask_strategy":"later"}`:       "multitask_strategy",
		`{"after_seconds":-1}`:                 "after_seconds",
		`{"command":{"goto":"nowhere"}}`:       `there is no node "nowhere"`,
		`{"context":{"secrets":{"a b":"x"}}}`:  "is not the name of a variable",
		`{"context":{"thinking_enabled":"x"}}`: "thinking_enabled",
		`{"config":[]}`:                        "config",
	} {
		var r request.Request
		must.Do(t, json.Unmarshal([]byte(body), &r))
		_, _, err := r.Prepare()
		if !errors.Is(err, request.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
