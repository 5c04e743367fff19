package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"fawn/agent/llm/sse"
)

func seeds() []string {
	return []string{
		`{"id":"c","choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"model":"m","choices":[{"delta":{"role":"assistant","content":"a\n\"\\\u00fc\ud83d\ude00\/"},"finish_reason":"stop"}]}`,
		`{"choices":[{"delta":{"content":null,"reasoning_content":"r"}}]}`,
		`{"choices":[{"delta":{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`,
		`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`,
		`{"error":{"message":"x"},"choices":[]}`,
		`{"Choices":[{"Delta":{"CONTENT":"x"}}]}`,
		`{"choices":[{"delta":{"content":"a","content":"b"}}]}`,
		`{"choices":[{"delta":{"content":"\ud800"}}]}`, "{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}",
		`{"choices":[{"index":1,"delta":{"content":"second"}}]}`, `{"choices":[{"index":0e1,"delta":{"content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{}}]}`, `{} {}`,
		` {"choices" : [ { "delta" : { "content" : "s" } } ] } `, `[]`, `{`, ``,
	}
}

// FuzzScan holds the fast reader to what encoding/json makes of the same chunk.
func FuzzScan(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var q quick
		if !scan(data, &q) || !json.Valid(data) {
			return
		}
		var w wireChunk
		if err := json.Unmarshal(data, &w); err != nil {
			t.Skip("the general reader refuses a field of the wrong type")
		}
		want := quick{model: []byte(w.Model)}
		if string(w.Usage) != "null" {
			want.usage = w.Usage
		}
		for _, c := range w.Choices {
			d := c.Delta.v
			if len(d.Calls) > 0 || !c.Message.v.blank() || d.Details != nil {
				t.Fatalf("fast reader took %s", data)
			}
			if c.Index.at != 0 {
				continue
			}
			want.text, want.finish = string(d.Content), string(c.Finish)
			want.reasoning = string(d.ReasoningContent)
			if want.reasoning == "" {
				want.reasoning = string(d.Reasoning)
			}
		}
		if q.text != want.text || q.reasoning != want.reasoning || q.finish != want.finish ||
			string(q.model) != string(want.model) || string(q.usage) != string(want.usage) {
			t.Errorf("%s\n fast %+v\n want %+v", data, q, want)
		}
	})
}

func TestCommonChunksTakeTheFastWay(t *testing.T) {
	for _, s := range seeds()[:3] {
		if !scan([]byte(s), &quick{}) {
			t.Errorf("slow: %s", s)
		}
	}
}

// payloads reads a whole stream.
func payloads(r io.Reader) (out []string, err error) {
	f := sse.New(r, func() {})
	for {
		ev, err := f.Read()
		if err != nil {
			return out, err
		}
		out = append(out, string(ev.Data))
	}
}

// FuzzFrames checks that where reads are cut changes nothing.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"), 3)
	f.Add([]byte(": c\r\n\r\nevent: error\r\ndata: {\r\ndata: }\r\n\r\n"), 1)
	f.Add([]byte("data: {}\ndata: {}\n{\"error\":1}\ndata:x"), 2)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole, err1 := payloads(bytes.NewReader(in))
		single, err2 := payloads(iotest.OneByteReader(bytes.NewReader(in)))
		if err1 != io.EOF || err2 != io.EOF || !slices.Equal(whole, single) {
			t.Fatalf("%q %v, byte by byte %q %v", whole, err1, single, err2)
		}
		cut = min(max(cut, 0), len(in))
		halves, _ := payloads(io.MultiReader(bytes.NewReader(in[:cut]), bytes.NewReader(in[cut:])))
		if !slices.Equal(whole, halves) {
			t.Fatalf("%q, cut at %d %q", whole, cut, halves)
		}
	})
}

func TestFramesRefuseAnEndlessEvent(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), iotest.DataErrReader(endlessReader{}))
	if _, err := payloads(endless); err != sse.ErrLong {
		t.Errorf("got %v", err)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestThinkBlockIsSplitWhereverTheStreamIsCut(t *testing.T) {
	for name, c := range map[string]struct{ in, text, reasoning string }{
		"block":        {"<think>why\nnot</think>\n\nBecause.", "Because.", "why\nnot"},
		"white space":  {"\n <think>a</think> b", "b", "a"},
		"long tag":     {"<thinking>a < b</thinking>c", "c", "a < b"},
		"none":         {"plain <think>x</think>", "plain <think>x</think>", ""},
		"almost":       {"<thin", "<thin", ""},
		"other tag":    {"<table></table>", "<table></table>", ""},
		"open end":     {"<think>never closed </thi", "", "never closed </thi"},
		"only space":   {" \n", " \n", ""},
		"empty":        {"", "", ""},
		"empty block":  {"<think></think>ok", "ok", ""},
		"only its end": {"so it\nis <b>\n </think> \n\nYes.\n</think>\n", "Yes.\n</think>\n", "so it\nis <b>\n "},
		"ends with it": {"hm\n</thinking>", "", "hm\n"},
		"in a line":    {"the tag </think>\n`</think>`\n</thinkers>", "the tag </think>\n`</think>`\n</thinkers>", ""},
		"talks of it":  {"so:\n<think>\nhm\n</think>\nx", "so:\n<think>\nhm\n</think>\nx", ""},
		"second block": {"<think>a</think>b<think>c</think>", "b<think>c</think>", "a"},
		"two blocks":   {"<think>a</think>\n<think>b</think>c", "c", "ab"},
		"upper case":   {"<THINK>a</Think>b", "b", "a"},
		"Kimi":         {"◁think▷a◁/think▷b", "b", "a"},
		"Magistral":    {"[THINK]a[/THINK]b", "b", "a"},
		"Seed":         {"<seed:think>a</seed:think>b", "b", "a"},
		"Command A":    {"<|START_THINKING|>a<|END_THINKING|>b", "b", "a"},
		"EXAONE":       {"<thought>a</thought>b", "b", "a"},
		"OpenThoughts": {"<|begin_of_thought|>a<|end_of_thought|>b", "b", "a"},
		"Apertus":      {"<|inner_prefix|>a<|inner_suffix|>b", "b", "a"},
		"glued end":    {"so it is</think>Yes", "Yes", "so it is"},
		"end of words": {"So it is. </think> Yes", "Yes", "So it is. "},
		"upper end":    {"so\n</THINK>\nYes", "Yes", "so\n"},
		"stray end":    {"</think>\n\nYes", "Yes", ""},
		"end in code":  {"it is `</think>`, or\n```\n</think>\n```\nso", "it is `</think>`, or\n```\n</think>\n```\nso", ""},
		"end quoted":   {"write \"</think>\" then", "write \"</think>\" then", ""},
		"brackets":     {"[thin] <b> ◁ 《x》", "[thin] <b> ◁ 《x》", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i <= len(c.in); i++ {
				for j := i; j <= len(c.in); j++ {
					var s thinkSplitter
					text, reasoning := "", ""
					add := func(a, b string) {
						if s.late {
							text, reasoning, s.late = "", reasoning+text, false
						}
						text, reasoning = text+a, reasoning+b
					}
					for _, piece := range []string{c.in[:i], c.in[i:j], c.in[j:]} {
						add(s.feed(piece))
					}
					add(s.flush())
					if text != c.text || reasoning != c.reasoning {
						t.Fatalf("cut at %d and %d: %q and %q", i, j, text, reasoning)
					}
				}
			}
		})
	}
}

func TestDetailsOfOddShapeDoNotMatter(t *testing.T) {
	var d details
	for _, raw := range []string{`{"index":{},"type":[]}`, `{"index":{},"type":[]}`, `7`, `null`, `{"text":5}`} {
		d.add(json.RawMessage(raw))
	}
	if len(d.list) != 3 {
		t.Errorf("%d entries", len(d.list))
	}
}
