package llmerr

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// limits are the providers' wordings of the context window, compiled on the first such refusal.
var limits = sync.OnceValue(func() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, words := range []string{
		`context (?:length|window|size)(?: is| of| limit is| limit of)?(?: only| exactly)? ?[(:]?(\d+)`, // OpenAI, vLLM, DeepSeek, LM Studio, llama.cpp
		`(\d+) maximum`, // Anthropic: > 200000 maximum; Mistral
		`maximum number of tokens allowed \((\d+)\)`, // Gemini
		`token limit:? ?(\d+)`,                       // Moonshot
		`input length should be \[1, (\d+)\]`,        // Qwen
		`n_ctx"?[ :=]+(\d+)`,
	} {
		all = append(all, regexp.MustCompile(words))
	}
	return all
})

// Window returns the context window in tokens, as stated in a refusal of a too long request; 0 if not stated.
func (e *Error) Window() int {
	if e.Class != ClassContext {
		return 0
	}
	if e.Limit > 0 {
		return e.Limit
	}
	text := strings.ReplaceAll(strings.ToLower(e.Message), ",", "")
	text = strings.ReplaceAll(text, "[1 ", "[1, ")
	for _, r := range limits() {
		if m := r.FindStringSubmatch(text); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n >= 128 && n < 1<<30 {
				return n
			}
		}
	}
	return 0
}
