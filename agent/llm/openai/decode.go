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
	Model   wireWord             `json:"model"`
	Choices wireList[wireChoice] `json:"choices"`
	Usage   json.RawMessage      `json:"usage"`
	Error   json.RawMessage      `json:"error"`
	Errors  json.RawMessage      `json:"errors"`
	Message json.RawMessage      `json:"message"`
	Detail  json.RawMessage      `json:"detail"`

	BaseResp wireMaybe[baseResp] `json:"base_resp"`
}

// baseResp is MiniMax's error format, at status 200.
type baseResp struct {
	Code    wireCount `json:"status_code"`
	Message wireWord  `json:"status_msg"`
}

type wireChoice struct {
	Index   wireIndex            `json:"index"`
	Delta   wireMaybe[wireDelta] `json:"delta"`
	Message wireMaybe[wireDelta] `json:"message"`
	Text    wireText             `json:"text"` // text of the older completions API
	Finish  wireWord             `json:"finish_reason"`
	Usage   json.RawMessage      `json:"usage"`
	Error   json.RawMessage      `json:"error"`
}

type wireDelta struct {
	Content          wireText                  `json:"content"`
	ReasoningContent wireText                  `json:"reasoning_content"`
	Reasoning        wireText                  `json:"reasoning"`
	Details          wireList[json.RawMessage] `json:"reasoning_details"`
	Refusal          wireText                  `json:"refusal"`
	Calls            wireList[wireCall]        `json:"tool_calls"`
	Call             *wireFunction             `json:"function_call"` // the older form, of one call
	Extra            any                       `json:"extra_content"`
}

type wireCall struct {
	Index    wireIndex               `json:"index"`
	ID       wireWord                `json:"id"`
	Function wireMaybe[wireFunction] `json:"function"`
	Name     wireWord                `json:"name"`      // if the function is not a nested object
	Args     wireArgs                `json:"arguments"` // of the same
	Extra    any                     `json:"extra_content"`
}

type wireFunction struct {
	Name wireWord `json:"name"`
	Args wireArgs `json:"arguments"`
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

// usage reads the token counts of any dialect; nil if there are none.
func usage(raw []byte) *agent.Usage {
	var u struct {
		Input        wireCount `json:"prompt_tokens"`
		Output       wireCount `json:"completion_tokens"`
		Total        wireCount `json:"total_tokens"`
		CacheHit     wireCount `json:"prompt_cache_hit_tokens"`
		Cached       wireCount `json:"cached_tokens"`
		InputDetails wireMaybe[struct {
			Cached  wireCount `json:"cached_tokens"`
			Written wireCount `json:"cache_write_tokens"`
			Audio   wireCount `json:"audio_tokens"`
		}] `json:"prompt_tokens_details"`
		OutputDetails wireMaybe[struct {
			Reasoning wireCount `json:"reasoning_tokens"`
			Audio     wireCount `json:"audio_tokens"`
		}] `json:"completion_tokens_details"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &u) != nil || u.Input == 0 && u.Output == 0 && u.Total == 0 {
		return nil
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	in, out := u.InputDetails.v, u.OutputDetails.v
	return &agent.Usage{Input: int(u.Input), Output: int(u.Output), Total: int(u.Total),
		InputDetails: counts("cache_read", int(max(in.Cached, u.CacheHit, u.Cached)),
			"cache_creation", int(in.Written), "audio", int(in.Audio)),
		OutputDetails: counts("reasoning", int(out.Reasoning), "audio", int(out.Audio))}
}

// counts returns a map of the counts above zero; nil if there are none.
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

// minimaxFailure parses an error of MiniMax. Its codes are more precise than its messages.
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
