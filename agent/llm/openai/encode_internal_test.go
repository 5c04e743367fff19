package openai

import (
	"encoding/json"
	"sync"
	"testing"

	client "github.com/sashabaranov/go-openai"
)

func TestTheOpeningIsThatOfEachCall(t *testing.T) {
	var first opening
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				text := []string{"You are \"A\".\n", "Du bist <B>.", ""}[(i+n)%3]
				list := []client.ChatCompletionMessage{{Role: "system", Content: text}, {Role: "user", Content: text},
					{Role: "system", Name: "x", Content: text}}
				got, err := encodeMessages(list, map[int]map[string]any{1: {"content": []string{text}}}, &first)
				if err != nil {
					t.Error(err)
					return
				}
				var back []struct {
					Role, Name string
					Content    any
				}
				if err := json.Unmarshal(got, &back); err != nil {
					t.Errorf("%s: %v", got, err)
					return
				}
				said := func(v any) string { s, _ := v.(string); return s }
				if len(back) != 3 || back[0].Role != "system" || back[0].Name != "" || said(back[0].Content) != text ||
					back[1].Role != "user" || back[1].Content.([]any)[0] != text || back[2].Name != "x" ||
					said(back[2].Content) != text {
					t.Errorf("%q became %s", text, got)
					return
				}
			}
		})
	}
	wg.Wait()
}
