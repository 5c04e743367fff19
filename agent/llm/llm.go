// Package llm creates models from their configuration: it maps DeerFlow's class paths to providers, and finds model
// servers on this machine. Each provider's protocol is a package below. Begin with llm.go; for a new OpenAI-compatible
// provider with openai/dialect.go.
package llm

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/llm/offline"
	"fawn/agent/llm/openai"
	"fawn/agent/llm/texttools"
)

// ErrClass means that the configured class isn't supported.
var ErrClass = errors.New("unknown model class")

// Config is one model of the configuration.
type Config struct {
	Name    string // how requests call it
	Use     string // class path or short name; empty = OpenAI-compatible
	Model   string // the provider's name of it; empty = Name
	BaseURL string // empty = the class's own
	APIKey  string // empty = the class's usual environment variable, for the class's own address only

	MaxTokens   int
	Temperature *float64
	Timeout     time.Duration // wait for an answer to begin; 0 = default
	IdleTimeout time.Duration // longest silence inside an answer; 0 = default, < 0 = no limit

	SupportsThinking        bool
	SupportsReasoningEffort bool
	WhenThinkingEnabled     map[string]any
	WhenThinkingDisabled    map[string]any
	Thinking                map[string]any // short form of WhenThinkingEnabled["thinking"]
	ExtraBody               map[string]any
	Headers                 map[string]string
	Extra                   map[string]any // keys of the entry without a field here

	Responses bool   // the model is called through the Responses API
	Dialect   string // name of the openai.Dialect; empty = found by address and class
	ToolCalls *bool  // whether the model has tool calls; nil = its provider's refusal shows it
	Known     *Known // lessons from earlier calls; nil = of this model alone

	Client *http.Client // nil = the shared one
}

// Known holds what calls revealed about models, shared by all models of a program. The zero value is ready.
type Known struct {
	noTools texttools.Memory
	lessons openai.Lessons
}

// class is the implementation behind a class path.
type class struct {
	dialect string // name of an openai.Dialect
	native  bool   // it uses Anthropic's own API
	offline bool
	refused string // why it can't be used, and the alternative
}

// plainDialect is the dialect of classes that don't imply a provider; the address does.
const plainDialect = "openai"

// classes returns all supported classes by path. A path without a class stands for all classes of its module; the name
// of a dialect is a class too.
func classes() map[string]class {
	return map[string]class{
		"":                                 {dialect: plainDialect},
		"langchain_openai:ChatOpenAI":      {dialect: plainDialect},
		"models.patched_openai":            {dialect: "compatible-echo"},
		"models.patched_gemini":            {dialect: "gemini"},
		"models.patched_kimi":              {dialect: "moonshot"},
		"models.patched_mimo":              {dialect: "mimo"},
		"models.patched_minimax":           {dialect: "minimax"},
		"models.patched_stepfun":           {dialect: "stepfun"},
		"models.patched_siliconflow":       {dialect: "compatible-echo"},
		"models.patched_360":               {dialect: "compatible-echo"},
		"models.patched_deepseek":          {dialect: "deepseek"},
		"models.vllm_provider":             {dialect: "vllm"},
		"models.rvllm_provider":            {dialect: "vllm"},
		"models.mindie_provider":           {dialect: "compatible"},
		"langchain_deepseek":               {dialect: "deepseek"},
		"langchain_google_genai":           {dialect: "gemini"},
		"langchain_ollama":                 {dialect: "ollama"},
		"langchain_openrouter":             {dialect: "openrouter"},
		"langchain_groq":                   {dialect: "groq"},
		"langchain_mistralai":              {dialect: "mistral"},
		"langchain_moonshot":               {dialect: "moonshot"},
		"langchain_qwq":                    {dialect: "qwen"},
		"langchain_xai":                    {dialect: "xai"},
		"offline":                          {offline: true},
		"anthropic":                        {native: true},
		"langchain_anthropic":              {native: true},
		"models.claude_provider":           {native: true},
		"langchain_openai:AzureChatOpenAI": {refused: "Azure's deployment addresses are not supported yet; its /openai/v1 address works with use: langchain_openai:ChatOpenAI"},
		"models.openai_codex_provider":     {refused: "it needs a login of the Codex program; use langchain_openai:ChatOpenAI with an API key"},
		"langchain_google_vertexai":        {refused: "Vertex AI is not supported yet; use langchain_google_genai:ChatGoogleGenerativeAI with an API key"},
	}
}

// IsOffline reports whether a class path is that of the built-in model.
func IsOffline(use string) bool {
	c, err := find(use)
	return err == nil && c.offline
}

// find looks a class path up.
func find(use string) (class, error) {
	path := strings.TrimSpace(use)
	for _, prefix := range []string{"deerflow.", "src."} {
		path = strings.TrimPrefix(path, prefix)
	}
	known := classes()
	c, ok := known[path]
	if module, name, has := strings.Cut(path, ":"); !ok && has && name != "" && module != "langchain_openai" {
		c, ok = known[module]
	}
	if !ok {
		var d openai.Dialect
		d, ok = openai.DialectNamed(path)
		c.dialect = d.Name
	}
	switch {
	case !ok:
		return c, fmt.Errorf("%w %q: models with an OpenAI-compatible API work with use: langchain_openai:ChatOpenAI and their base_url; "+
			"also known are deerflow.models.patched_* and vllm_provider, the LangChain packages of Anthropic, DeepSeek, Gemini, Ollama, OpenRouter, "+
			"Groq, Mistral, Moonshot, Qwen and xAI, and the short names %s", ErrClass, use,
			strings.Join(dialectNames(), ", "))
	case c.refused != "":
		return c, fmt.Errorf("%w %q: %s", ErrClass, use, c.refused)
	}
	return c, nil
}

// New returns the model without network access. Its errors tell what to change; class errors wrap ErrClass.
func New(cfg Config) (agent.Model, error) {
	c, err := find(cfg.Use)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	if c.offline {
		return offline.New(Environment), nil
	}
	if c.native {
		return newAnthropic(cfg)
	}
	d, base, err := dialect(cfg, c)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	if cfg.Known == nil {
		cfg.Known = &Known{}
	}
	on, off := overlays(cfg, d)
	body, headers, echo := extras(cfg)
	switch {
	case echo == nil:
	case !*echo:
		d.Echo = openai.EchoNever
	case d.Echo == openai.EchoNever:
		d.Echo = openai.EchoAlways
	}
	o := openai.Config{Name: cfg.Name, Model: cfg.Model, BaseURL: base, APIKey: cfg.APIKey, Headers: headers,
		MaxTokens: cfg.MaxTokens, Temperature: cfg.Temperature, ExtraBody: body, ThinkingOn: on, ThinkingOff: off,
		Effort: cfg.SupportsReasoningEffort, Responses: cfg.Responses, Dialect: d, Lessons: &cfg.Known.lessons,
		Timeout: cfg.Timeout, IdleTimeout: cfg.IdleTimeout, Client: cfg.Client}
	if o.Model == "" {
		o.Model = cfg.Name
	}
	if cfg.BaseURL == "" && o.APIKey == "" { // a key is only sent to its own provider
		o.APIKey = firstInEnv(d.Keys)
	}
	m, err := openai.New(o)
	if err != nil { // a nil *Model must not become a Model
		return nil, err
	}
	switch {
	case cfg.ToolCalls != nil && !*cfg.ToolCalls:
		return texttools.Always(m), nil
	case cfg.ToolCalls != nil:
		return texttools.Native(m), nil
	}
	return texttools.WhenRefused(m, o.Model+" at "+base, &cfg.Known.noTools), nil
}

// Check explains why New would refuse a configuration: its class or its dialect is not known.
func Check(cfg Config) error {
	c, err := find(cfg.Use)
	if err == nil && !c.native && !c.offline {
		_, _, err = dialect(cfg, c)
	}
	return err
}

// Efforts returns the reasoning efforts a model of this configuration takes.
func Efforts(cfg Config) []string {
	more := []string{"minimal", "xhigh", "max"} // of Anthropic's own API, where minimal is sent as low
	if c, err := find(cfg.Use); err == nil && !c.native {
		d, _, _ := dialect(cfg, c)
		more = d.Efforts
	}
	return append([]string{"low", "medium", "high"}, more...)
}

// DialectOf returns the dialect for a model's configuration.
func DialectOf(cfg Config) (openai.Dialect, error) {
	c, err := find(cfg.Use)
	if err != nil {
		return openai.Dialect{}, err
	}
	d, _, err := dialect(cfg, c)
	return d, err
}

// Address returns where a model of this configuration is, "" when it is nowhere.
func Address(cfg Config) string {
	base, _, err := reach(cfg)
	if err != nil {
		return ""
	}
	return base
}

// reach returns where a model is, and the headers that open the door there.
func reach(cfg Config) (base string, headers map[string]string, err error) {
	c, err := find(cfg.Use)
	if err != nil {
		return "", nil, err
	}
	if c.native {
		return reachAnthropic(cfg)
	}
	d, base, err := dialect(cfg, c)
	if err != nil {
		return "", nil, err
	}
	_, headers, _ = extras(cfg)
	key := cfg.APIKey
	if cfg.BaseURL == "" && key == "" {
		key = firstInEnv(d.Keys)
	}
	if key != "" {
		headers["Authorization"] = "Bearer " + key
	}
	return base, headers, nil
}

// dialect determines the model's dialect and address. An explicit key decides, then a provider's own
// address, then the class, then the port of a server on this machine.
func dialect(cfg Config, c class) (d openai.Dialect, base string, err error) {
	if cfg.Dialect != "" {
		var ok bool
		if d, ok = openai.DialectNamed(cfg.Dialect); !ok {
			return d, "", fmt.Errorf("dialect %q is unknown; there are %s", cfg.Dialect,
				strings.Join(dialectNames(), ", "))
		}
		return d, address(cfg.BaseURL, d), nil
	}
	d, ok := openai.DialectNamed(c.dialect)
	if !ok {
		return d, "", fmt.Errorf("class %q has no dialect", cfg.Use)
	}
	base = address(cfg.BaseURL, d)
	if base == d.Base {
		return d, base, nil
	}
	keys := d.Keys // of the class, whatever the address
	switch at, sure, found := openai.DialectAt(base); {
	case found && (sure || c.dialect == plainDialect):
		d = at
	case c.dialect == plainDialect:
		d, _ = openai.DialectNamed("compatible")
	}
	d.Keys = keys
	return d, base, nil
}

// address returns the model's address: from the configuration, the environment, or the provider's default.
func address(configured string, d openai.Dialect) string {
	if configured != "" {
		return configured
	}
	if d.Address != "" && os.Getenv(d.Address) != "" {
		return os.Getenv(d.Address)
	}
	return d.Base
}

func dialectNames() []string {
	var names []string
	for _, d := range openai.Dialects() {
		names = append(names, d.Name)
	}
	return names
}

func firstInEnv(names []string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}
