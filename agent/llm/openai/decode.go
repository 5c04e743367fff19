package openai

import (
	"bytes"
	"encoding/json"
	"strconv"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
)

// wireChunk is a chunk of a stream, or a whole answer of a server that does not stream.
type wireChunk struct {
	Model   string          `json:"model"`
	Choices []wireChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`

	BaseResp struct { // MiniMax's, with failures at status 200
		Code    int    `json:"status_code"`
		Message string `json:"status_msg"`
	} `json:"base_resp"`
}

type wireChoice struct {
	Index   int             `json:"index"`
	Delta   wireDelta       `json:"delta"`
	Message *wireDelta      `json:"message"`
	Finish  string          `json:"finish_reason"`
	Usage   json.RawMessage `json:"usage"`
}

type wireDelta struct {
	Content          wireText          `json:"content"`
	ReasoningContent wireText          `json:"reasoning_content"`
	Reasoning        wireText          `json:"reasoning"`
	Details          []json.RawMessage `json:"reasoning_details"`
	Refusal          string            `json:"refusal"`
	Calls            []wireCall        `json:"tool_calls"`
	Extra            any               `json:"extra_content"`
}

type wireCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name string   `json:"name"`
		Args wireArgs `json:"arguments"`
	} `json:"function"`
	Extra any `json:"extra_content"`
}

// wireText is a string, or a list of text blocks as some servers send.
type wireText string

// UnmarshalJSON reads any of the shapes; what is neither counts as no text.
func (t *wireText) UnmarshalJSON(b []byte) error {
	*t = ""
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case '[', '{':
		var c agent.Content
		if c.UnmarshalJSON(b) == nil {
			*t = wireText(c.String())
		}
	}
	return nil
}

// wireArgs is a piece of JSON text, or, from servers that misread the protocol, an object.
type wireArgs string

// UnmarshalJSON reads both shapes.
func (a *wireArgs) UnmarshalJSON(b []byte) error {
	switch {
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(a))
	case bytes.Equal(b, []byte("null")):
		*a = ""
	default:
		*a = wireArgs(b)
	}
	return nil
}

// usage reads the token counts of any dialect; nil when there are none.
func usage(raw []byte) *agent.Usage {
	var u struct {
		Input        int `json:"prompt_tokens"`
		Output       int `json:"completion_tokens"`
		Total        int `json:"total_tokens"`
		CacheHit     int `json:"prompt_cache_hit_tokens"`
		Cached       int `json:"cached_tokens"`
		InputDetails struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
			Audio   int `json:"audio_tokens"`
		} `json:"prompt_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
			Audio     int `json:"audio_tokens"`
		} `json:"completion_tokens_details"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u.Input == 0 && u.Output == 0 && u.Total == 0 {
		return nil
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return &agent.Usage{Input: u.Input, Output: u.Output, Total: u.Total,
		InputDetails: counts("cache_read", max(u.InputDetails.Cached, u.CacheHit, u.Cached),
			"cache_creation", u.InputDetails.Written, "audio", u.InputDetails.Audio),
		OutputDetails: counts("reasoning", u.OutputDetails.Reasoning, "audio", u.OutputDetails.Audio)}
}

// counts makes a map of the counts above zero; nil when there are none.
func counts(pairs ...any) map[string]int {
	var out map[string]int
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		n, _ := pairs[i+1].(int)
		if n <= 0 {
			continue
		}
		if out == nil {
			out = map[string]int{}
		}
		out[name] = n
	}
	return out
}

// minimaxFailure is a failure as MiniMax tells it. Its codes say more than its words.
func minimaxFailure(code int, message string) error {
	e := &llmerr.Error{Code: strconv.Itoa(code), Message: message}
	switch code {
	case 1002, 1041, 2045:
		e.Class = llmerr.ClassBurst
	case 1000, 1001, 1013, 1024, 1033:
		e.Class = llmerr.ClassBusy
	case 1004, 2049:
		e.Class = llmerr.ClassAuth
	case 1008, 2056:
		e.Class = llmerr.ClassQuota
	case 1039:
		e.Class = llmerr.ClassContext
	case 1026, 1027, 2013:
		e.Class = llmerr.ClassInvalid
	default:
		e.Class = llmerr.Classify(0, "", message, 0)
	}
	return e
}
