package scriptmodel_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fawn/web/e2e/scriptmodel"
)

const tools = `"tools":[{"type":"function","function":{"name":"bash"}}],`

func ask(t *testing.T, url, extra string, messages ...string) *http.Response {
	t.Helper()
	var list []json.RawMessage
	for i, m := range messages {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		b, err := json.Marshal(map[string]string{"role": role, "content": m})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"model":"m",` + extra + `"messages":` + string(b) + `}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

type reply struct {
	content, reasoning, finish string
	args                       map[int]string
	names                      map[int]string
	usage                      int
	frames                     int
	done                       bool
	err                        error
}

func read(t *testing.T, res *http.Response) reply {
	t.Helper()
	out := reply{args: map[int]string{}, names: map[int]string{}}
	sc := bufio.NewScanner(res.Body)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			out.done = true
			continue
		}
		var f struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					Reasoning string `json:"reasoning_content"`
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				Completion int `json:"completion_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			out.err = err
			continue
		}
		out.frames++
		out.usage += f.Usage.Completion
		for _, c := range f.Choices {
			out.content += c.Delta.Content
			out.reasoning += c.Delta.Reasoning
			out.finish += c.FinishReason
			for _, call := range c.Delta.ToolCalls {
				out.args[call.Index] += call.Function.Arguments
				out.names[call.Index] += call.Function.Name
			}
		}
	}
	if err := sc.Err(); err != nil {
		out.err = err
	}
	return out
}

const streaming = `"stream":true,"stream_options":{"include_usage":true},`

func TestShorthandStreamsThatManyTokens(t *testing.T) {
	s := scriptmodel.Start(t)
	got := read(t, ask(t, s.URL, tools+streaming, "please echo 7 tokens at 0 tok/s"))
	if want := strings.Repeat("lorem ", 7); got.content != want || got.finish != "stop" || !got.done || got.usage != 7 {
		t.Fatalf("got %+v", got)
	}
}

func TestRateIsKept(t *testing.T) {
	s := scriptmodel.Start(t)
	begin := time.Now()
	read(t, ask(t, s.URL, tools+streaming, "echo 20 tokens at 200 tok/s"))
	if d := time.Since(begin); d < 100*time.Millisecond {
		t.Fatalf("20 tokens at 200 tok/s took only %v", d)
	}
}

func TestTurnsFollowTheAssistantMessages(t *testing.T) {
	s := scriptmodel.Start(t)
	script := `SCRIPT{"turns":[{"text":"one","repeat":2},{"text":"two"}],"final":{"text":"end"}}`
	for name, c := range map[string]struct {
		history []string
		want    string
	}{
		"first":        {[]string{script}, "one"},
		"repeated":     {[]string{script, "a", "go on"}, "one"},
		"second":       {[]string{script, "a", "go on", "b", "go on"}, "two"},
		"final":        {[]string{script, "a", "x", "b", "x", "c", "x"}, "end"},
		"newest wins":  {[]string{script, "a", "echo 1 tokens at 0 tok/s"}, "lorem "},
		"old spelling": {[]string{`STUB{"turns":[{"text":"stub"}]}`}, "stub"},
		"past the end": {[]string{`SCRIPT{"turns":[{"text":"x"}]}`, "x", "y"}, "done."},
		"unreadable":   {[]string{`SCRIPT{"turns":7}`}, "unreadable script: json: cannot unmarshal number into Go struct field Script.turns of type []scriptmodel.Turn"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, ask(t, s.URL, tools+streaming, c.history...)); got.content != c.want {
				t.Fatalf("got %q, want %q", got.content, c.want)
			}
		})
	}
}

func TestToolCallsArriveWholeWhenCut(t *testing.T) {
	s := scriptmodel.Start(t)
	got := read(t, ask(t, s.URL, tools+streaming, `SCRIPT{"turns":[{"reasoning":"hm","text":"let me see","arg_chunks":3,
		"tool_calls":[{"name":"bash","args":{"command":"ls é"}},{"name":"bash","raw":"{\"broken"}]}]}`))
	if got.args[0] != `{"command":"ls é"}` || got.args[1] != `{"broken` || got.names[0] != "bash" ||
		got.finish != "tool_calls" || got.reasoning != "hm" || got.content != "let me see" {
		t.Fatalf("got %+v", got)
	}
}

func TestWholeAnswerHasTheSameParts(t *testing.T) {
	s := scriptmodel.Start(t)
	res := ask(t, s.URL, tools, `SCRIPT{"turns":[{"text":"hi ","tokens":2,"tool_calls":[{"name":"a","args":{"x":1},"id":"c1"}],"usage":{"prompt":3,"completion":4}}]}`)
	var body struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					ID       string
					Function struct{ Arguments string }
				} `json:"tool_calls"`
			}
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	m := body.Choices[0].Message
	if m.Content != "hi lorem lorem " || m.ToolCalls[0].ID != "c1" || m.ToolCalls[0].Function.Arguments != `{"x":1}` ||
		body.Usage.Total != 7 {
		t.Fatalf("got %+v", body)
	}
}

func TestSideRequestsGetTheCannedAnswer(t *testing.T) {
	s := scriptmodel.Start(t)
	for name, c := range map[string]struct{ extra, message, want string }{
		"title prompt quoting a script": {streaming, "Name this: echo 9 tokens at 0 tok/s", "Scripted reply."},
		"no script at all":              {tools + streaming, "hello", "Scripted reply."},
		"json wanted":                   {streaming + `"response_format":{"type":"json_object"},`, "facts of: echo 1 tokens at 0 tok/s", "{}"},
		"script without tools":          {streaming, "echo 1 tokens at 0 tok/s", "lorem "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, ask(t, s.URL, c.extra, c.message)); got.content != c.want {
				t.Fatalf("got %q, want %q", got.content, c.want)
			}
		})
	}
}

func TestRulesScriptPlainWords(t *testing.T) {
	s := scriptmodel.Start(t)
	s.When("weather", scriptmodel.Script{Turns: []scriptmodel.Turn{{Text: "sunny"}}})
	if got := read(t, ask(t, s.URL, tools+streaming, "how is the weather?")); got.content != "sunny" {
		t.Fatalf("got %q", got.content)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/script/rules",
		strings.NewReader(`[{"match":"tea","script":{"turns":[{"text":"green"}]}}]`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := read(t, ask(t, s.URL, tools+streaming, "which tea?")); got.content != "green" {
		t.Fatalf("got %q", got.content)
	}
}

func TestErrorsFailOnlyTheFirstAttempts(t *testing.T) {
	s := scriptmodel.Start(t)
	script := `SCRIPT{"turns":[{"text":"ok","error":{"status":429,"message":"slow down","retry_after":0.5,"times":2}}]}`
	for attempt, want := range []int{429, 429, 200} {
		res := ask(t, s.URL, tools+streaming, script)
		if res.StatusCode != want {
			t.Fatalf("attempt %d: status %d, want %d", attempt, res.StatusCode, want)
		}
		b, _ := io.ReadAll(res.Body)
		if want == 429 && (!strings.Contains(string(b), "slow down") || res.Header.Get("Retry-After") != "0.5") {
			t.Fatalf("attempt %d: %s %v", attempt, b, res.Header)
		}
	}
}

func TestBrokenStreams(t *testing.T) {
	s := scriptmodel.Start(t)
	t.Run("cut", func(t *testing.T) {
		got := read(t, ask(t, s.URL, tools+streaming, `SCRIPT{"turns":[{"tokens":50,"cut_after":4}]}`))
		if got.done || got.frames != 4 || !errors.Is(got.err, io.ErrUnexpectedEOF) {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("malformed", func(t *testing.T) {
		got := read(t, ask(t, s.URL, tools+streaming, `SCRIPT{"turns":[{"text":"a","malformed_sse":true}]}`))
		if got.err == nil {
			t.Fatal("no broken line seen")
		}
	})
	t.Run("empty", func(t *testing.T) {
		got := read(t, ask(t, s.URL, tools+streaming, `SCRIPT{"turns":[{"text":"a","empty":true,"no_usage":true}]}`))
		if got.content != "" || !got.done || got.usage != 0 {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("hang sends the text first", func(t *testing.T) {
		res := ask(t, s.URL, tools+streaming, `SCRIPT{"turns":[{"text":"abcd","hang":true}]}`)
		sc := bufio.NewScanner(res.Body)
		for sc.Scan() {
			if strings.Contains(sc.Text(), "abcd") {
				return
			}
		}
		t.Fatalf("the text never came: %v", sc.Err())
	})
}

func TestAGateHoldsTheRestOfAnAnswer(t *testing.T) {
	s := scriptmodel.Start(t)
	res := ask(t, s.URL, tools+streaming, `SCRIPT{"turns":[{"text":"abcd","gate":"one","tokens":2}]}`)
	sc := bufio.NewScanner(res.Body)
	for sc.Scan() && !strings.Contains(sc.Text(), "abcd") {
		if strings.Contains(sc.Text(), "lorem") {
			t.Fatal("the gate was open")
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/script/gates/one", nil)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := http.DefaultClient.Do(req); err != nil || opened.StatusCode != http.StatusNoContent {
		t.Fatalf("open: %v %v", opened, err)
	} else {
		opened.Body.Close()
	}
	s.Open("one") // open already
	rest := ""
	for sc.Scan() {
		rest += sc.Text()
	}
	if strings.Count(rest, "lorem ") != 2 || !strings.Contains(rest, "[DONE]") {
		t.Fatalf("behind the gate: %s", rest)
	}
}

func TestRequestsAreRecordedAndBounded(t *testing.T) {
	s := scriptmodel.Start(t)
	for range 300 {
		ask(t, s.URL, "", "hello").Body.Close()
	}
	got := s.Requests()
	if len(got) != 256 || got[255].N != 300 || got[0].Kind != "side" {
		t.Fatalf("%d kept, last %d, kind %q", len(got), got[len(got)-1].N, got[0].Kind)
	}
	if !strings.Contains(string(got[0].Body), "hello") {
		t.Fatalf("body %s", got[0].Body)
	}
	s.Forget()
	if got := s.Requests(); len(got) != 0 {
		t.Fatalf("%d left after Forget", len(got))
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"", "echo 1 tokens at 2.5 tok/s", `SCRIPT{"turns":[{"repeat":3}]}`, "STUB{",
		`xSCRIPT{"final":{"tokens":-1}}`} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, k int) {
		s, at := scriptmodel.Find(text)
		if (s == nil) != (at < 0) || at >= len(text) && len(text) > 0 {
			t.Fatalf("script %v at %d of %d", s, at, len(text))
		}
		if s == nil || k < 0 {
			return
		}
		if turn := s.Turn(k); turn.Chunk < 1 || turn.ArgChunks < 1 || turn.Tokens < 0 || turn.Tokens > 1<<20 ||
			turn.Rate < 0 {
			t.Fatalf("turn out of bounds: %+v", turn)
		}
	})
}
