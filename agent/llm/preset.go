package llm

import (
	"os"
	"slices"

	"fawn/agent/llm/anthropic"
	"fawn/agent/llm/openai"
)

// Preset is a provider selectable by name: the defaults of a models[] entry.
type Preset struct {
	Name    string // also its use:
	Label   string // display name
	BaseURL string // empty for Other
	Key     string // environment variable of its key; empty if it needs none
	KeyPage string // where people get a key
	Local   bool   // it runs on this machine
}

// Presets returns the providers in the order they are offered.
func Presets() []Preset {
	list := []Preset{
		{Name: "openai", Label: "OpenAI", KeyPage: "https://platform.openai.com/api-keys"},
		{Name: "anthropic", Label: "Anthropic", BaseURL: anthropic.Base, Key: anthropicKey,
			KeyPage: "https://console.anthropic.com/settings/keys"},
		{Name: "gemini", Label: "Google Gemini", KeyPage: "https://aistudio.google.com/apikey"},
		{Name: "deepseek", Label: "DeepSeek", KeyPage: "https://platform.deepseek.com/api_keys"},
		{Name: "openrouter", Label: "OpenRouter", KeyPage: "https://openrouter.ai/settings/keys"},
		{Name: "qwen", Label: "Qwen (DashScope)", KeyPage: "https://bailian.console.aliyun.com/"},
		{Name: "moonshot", Label: "Moonshot (Kimi)", KeyPage: "https://platform.moonshot.ai/console/api-keys"},
		{Name: "minimax", Label: "MiniMax", KeyPage: "https://platform.minimax.io/"},
		{Name: "groq", Label: "Groq", KeyPage: "https://console.groq.com/keys"},
		{Name: "mistral", Label: "Mistral", KeyPage: "https://console.mistral.ai/api-keys"},
		{Name: "xai", Label: "xAI", KeyPage: "https://console.x.ai/"},
		{Name: "ollama", Label: "Ollama", Local: true},
		{Name: "lmstudio", Label: "LM Studio", Local: true},
		{Name: "llamacpp", Label: "llama.cpp", Local: true},
		{Name: "vllm", Label: "vLLM", Local: true},
		{Name: "compatible", Label: "Other (OpenAI-compatible API)"},
	}
	for i := range list {
		d, ok := openai.DialectNamed(list[i].Name)
		if !ok {
			continue
		}
		list[i].BaseURL = d.Base
		if len(d.Keys) > 0 && !list[i].Local {
			list[i].Key = d.Keys[0]
		}
	}
	return list
}

// KeyNames returns the environment variables in which people keep their providers' keys.
func KeyNames() []string {
	names := []string{anthropicKey}
	for _, d := range openai.Dialects() {
		names = append(names, d.Keys...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// KeysInEnv returns the names of [KeyNames] that are set; their values are never read out.
func KeysInEnv() []string {
	return slices.DeleteFunc(KeyNames(), func(name string) bool { return os.Getenv(name) == "" })
}
