package openai

import (
	"net/url"
	"strings"
	"sync"
)

// Dialect describes one provider's deviations in the chat completions API. The zero value is the API as most servers
// implement it.
type Dialect struct {
	Name    string   // how the configuration and the documentation call it
	Base    string   // the provider's address
	Keys    []string // environment variables of its key, the first that is set
	Address string   // environment variable of its address
	Hosts   []string // host names of the provider, with all names below them
	Port    string   // on this machine, the port its server listens on as a rule

	Limit    string         // field with an answer's token limit; "" = by the model's name
	Efforts  []string       // supported reasoning efforts besides low, medium and high
	Effort   []string       // path of the reasoning effort in the body; nil = reasoning_effort
	Body     map[string]any // in every request
	On, Off  map[string]any // body fields with and without thinking, unless configured otherwise
	Echo     Echo           // which reasoning is sent back
	EchoKeys []string       // as these fields of the message; nil = reasoning_content
	Fill     string         // sent in place of missing reasoning if some is required while the model thinks

	JoinUsers     bool     // consecutive user messages are merged
	SchemaWithout []string // words of JSON Schema which are refused in tools
	Signature     any      // extra_content for calls that lack the required one
	Unsigned      []string // name prefixes of models that need none
	NoExtra       bool     // extra_content of other providers is left out: unknown fields are refused
	MaxCallID     int      // longest id of a call, in bytes; 0 = any
	ShortID       bool     // an id of a call has nine letters and digits, and no others
	Files         bool     // it reads PDF documents in messages
	Sound         bool     // some of its models accept audio
	Bridge        bool     // an answer must come between a tool result and a user message
	Responses     []string // name prefixes of models available through the Responses API only
	Repeats       bool     // a piece of text may repeat all text before it
}

// Echo selects the reasoning of earlier answers that a provider wants back.
type Echo uint8

// Kinds of [Echo]. A turn is the part between two user messages.
const (
	EchoNever  Echo = iota // some providers refuse it, most ignore it
	EchoTurns              // reasoning of turns with tool calls
	EchoAlways             // all reasoning
)

type object = map[string]any

// Dialects returns all known dialects. The first is the default for unknown servers. Callers share the list and must
// not change it.
func Dialects() []Dialect { return dialects() }

var dialects = sync.OnceValue(func() []Dialect {
	thinking := func(kind string) object { return object{"thinking": object{"type": kind}} }
	template := func(on bool) object { return object{"chat_template_kwargs": object{"enable_thinking": on}} }
	both := []string{"reasoning", "reasoning_content"} // servers changed the name; unknown fields are ignored
	return []Dialect{
		{Name: "compatible", Efforts: []string{"minimal"}},
		{Name: "compatible-echo", Efforts: []string{"minimal"}, Echo: EchoAlways},
		{Name: "openai", Base: "https://api.openai.com/v1", Keys: []string{"OPENAI_API_KEY"},
			Address: "OPENAI_BASE_URL", Hosts: []string{"api.openai.com"},
			Limit: "max_completion_tokens", Off: object{"reasoning_effort": "low"}, MaxCallID: 40, NoExtra: true, Files: true, Sound: true,
			Efforts:   []string{"none", "minimal", "xhigh"},
			Responses: []string{"o1-pro", "o3-pro", "gpt-5-pro", "gpt-5-codex", "gpt-5.1-codex", "gpt-6", "codex-"}},
		{Name: "deepseek", Base: "https://api.deepseek.com/v1", Keys: []string{"DEEPSEEK_API_KEY"},
			Hosts: []string{"deepseek.com"},
			Limit: "max_tokens", On: thinking("enabled"), Off: thinking("disabled"), Echo: EchoTurns, Fill: " "},
		{Name: "openrouter", Base: "https://openrouter.ai/api/v1", Keys: []string{"OPENROUTER_API_KEY"},
			Hosts: []string{"openrouter.ai"},
			Limit: "max_tokens", Effort: []string{"reasoning", "effort"}, Efforts: []string{"none", "minimal", "xhigh"},
			On:  object{"reasoning": object{"enabled": true}},
			Off: object{"reasoning": object{"enabled": false}}, Echo: EchoAlways, EchoKeys: []string{"reasoning"}, Files: true,
			Sound: true},
		{Name: "gemini", Base: "https://generativelanguage.googleapis.com/v1beta/openai",
			Keys:  []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
			Hosts: []string{"generativelanguage.googleapis.com"}, Limit: "max_tokens",
			Efforts: []string{"none", "minimal"},
			On: object{
				"extra_body": object{"google": object{"thinking_config": object{"include_thoughts": true}}},
			},
			Off:           object{"reasoning_effort": "low"},
			SchemaWithout: []string{"$schema", "$id", "additionalProperties", "exclusiveMinimum", "exclusiveMaximum"},
			Signature:     object{"google": object{"thought_signature": "skip_thought_signature_validator"}},
			Unsigned:      []string{"gemini-1", "gemini-2", "gemma"}},
		{Name: "qwen", Base: "https://dashscope.aliyuncs.com/compatible-mode/v1", Keys: []string{"DASHSCOPE_API_KEY"},
			Hosts: []string{"aliyuncs.com"},
			Limit: "max_tokens", Body: object{"parallel_tool_calls": true}, On: object{"enable_thinking": true},
			Off: object{"enable_thinking": false}},
		{Name: "moonshot", Base: "https://api.moonshot.ai/v1", Keys: []string{"MOONSHOT_API_KEY"},
			Hosts: []string{"moonshot.ai", "moonshot.cn", "kimi.com"},
			Limit: "max_tokens", On: thinking("enabled"), Off: thinking("disabled"), Echo: EchoAlways, Fill: " "},
		{Name: "minimax", Base: "https://api.minimax.io/v1", Keys: []string{"MINIMAX_API_KEY"},
			Hosts: []string{"minimax.io", "minimaxi.com", "minimax.chat"},
			Limit: "max_tokens", Body: object{"reasoning_split": true}, Echo: EchoAlways, Repeats: true},
		{Name: "vllm", Base: "http://127.0.0.1:8000/v1", Keys: []string{"VLLM_API_KEY"}, Port: "8000",
			Limit: "max_tokens", On: template(true), Off: template(false), Echo: EchoTurns, EchoKeys: both,
			JoinUsers: true},
		{Name: "llamacpp", Base: "http://127.0.0.1:8080/v1", Port: "8080", Limit: "max_tokens",
			On: template(true), Off: template(false), Echo: EchoTurns, JoinUsers: true},
		{Name: "lmstudio", Base: "http://127.0.0.1:1234/v1", Port: "1234", Limit: "max_tokens", JoinUsers: true},
		{Name: "ollama", Base: "http://127.0.0.1:11434/v1", Port: "11434", Hosts: []string{"ollama.com"},
			Keys:  []string{"OLLAMA_API_KEY"},
			Limit: "max_tokens", Efforts: []string{"none"}, Off: object{"reasoning_effort": "none"}, Echo: EchoTurns,
			EchoKeys: []string{"reasoning"}, JoinUsers: true},
		{Name: "mimo", Base: "https://api.xiaomimimo.com/v1", Keys: []string{"MIMO_API_KEY"},
			Hosts: []string{"xiaomimimo.com"},
			On:    thinking("enabled"), Off: thinking("disabled"), Echo: EchoAlways, Fill: " "},
		{Name: "stepfun", Base: "https://api.stepfun.com/v1", Keys: []string{"STEPFUN_API_KEY"},
			Hosts: []string{"stepfun.com", "stepfun.ai"},
			Limit: "max_tokens", Echo: EchoAlways, EchoKeys: both},
		{Name: "groq", Base: "https://api.groq.com/openai/v1", Keys: []string{"GROQ_API_KEY"},
			Hosts: []string{"groq.com"}, Efforts: []string{"none", "default"}, NoExtra: true},
		{Name: "mistral", Base: "https://api.mistral.ai/v1", Keys: []string{"MISTRAL_API_KEY"},
			Hosts: []string{"mistral.ai"}, Limit: "max_tokens", JoinUsers: true, NoExtra: true, ShortID: true,
			Bridge: true},
		{Name: "xai", Base: "https://api.x.ai/v1", Keys: []string{"XAI_API_KEY"}, Hosts: []string{"x.ai"}, NoExtra: true},
	}
})

// DialectNamed finds a dialect by its name.
func DialectNamed(name string) (Dialect, bool) {
	for _, d := range Dialects() {
		if d.Name == strings.ToLower(name) {
			return d, true
		}
	}
	return Dialect{}, false
}

// DialectAt finds the dialect of an address. sure is false when only the port of a server
// on this machine speaks for it.
func DialectAt(base string) (d Dialect, sure, ok bool) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" {
		return Dialect{}, false, false
	}
	host := strings.ToLower(u.Hostname())
	local := host == "localhost" || host == "::1" || host == "host.docker.internal" || strings.HasPrefix(host, "127.")
	for _, d := range Dialects() {
		for _, h := range d.Hosts {
			if host == h || strings.HasSuffix(host, "."+h) {
				return d, true, true
			}
		}
		if local && d.Port != "" && u.Port() == d.Port {
			return d, false, true
		}
	}
	return Dialect{}, false, false
}

// limit returns the field of the most tokens of an answer.
func (d *Dialect) limit(model string) string {
	if d.Limit != "" {
		return d.Limit
	}
	if startsWithAny(model, reasoners()) {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// reasoners returns name prefixes of OpenAI's reasoning models.
func reasoners() []string { return []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} }

// signs reports whether a call of this model must carry a signature.
func (d *Dialect) signs(model string) bool {
	return d.Signature != nil && !startsWithAny(model, d.Unsigned)
}
