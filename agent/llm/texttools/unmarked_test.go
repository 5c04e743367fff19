package texttools_test

import (
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/llm/texttools"
)

// spoken is what came of an answer, with its thoughts before it.
func spoken(m *agent.Message) string {
	out := spell(m)
	if thought, _ := m.Kwargs["reasoning_content"].(string); thought != "" {
		out = "(" + thought + ")" + out
	}
	return out
}

// TestFormsWithoutMarks reads what servers make of gpt-oss by leaving its special tokens out, and Functionary's form,
// whole and cut at every place, with and without calls of the model's own.
func TestFormsWithoutMarks(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"thought and answer":           {"analysisThe user greets me.assistantfinalHello there!", "(The user greets me.)Hello there!"},
		"an answer in lower case":      {"analysisThey ask.assistantfinalls -la shows it", "(They ask.)ls -la shows it"},
		"an answer alone":              {"assistantfinalHello there!", "Hello there!"},
		"lines":                        {"analysis\nThe user greets.\nassistantfinal\nHello.", "(\nThe user greets.\n)Hello."},
		"Chinese":                      {"analysis用户想要列表。assistantfinal好的。", "(用户想要列表。)好的。"},
		"a call":                       {`analysisList it.assistantcommentary to=functions.ls json{"path":"/mnt"}`, `(List it.)|ls {"path":"/mnt"}`},
		"a kind that sticks":           {`analysisList it.assistantcommentary to=functions.lsjson{"path":"a"}`, `(List it.)|ls {"path":"a"}`},
		"a kind of its own":            {`analysisList it.assistantcommentary to=functions.ls code{"path":"a"}`, `(List it.)|ls {"path":"a"}`},
		"no kind":                      {`analysisList it.assistantcommentary to=functions.ls{"path":"a"}`, `(List it.)|ls {"path":"a"}`},
		"a recipient first":            {`analysisList it.assistant to=functions.lscommentary json{"path":"a"}`, `(List it.)|ls {"path":"a"}`},
		"a call in a thought":          {`analysisList it.assistantanalysis to=functions.ls code{"path":"a"}`, `(List it.)|ls {"path":"a"}`},
		"a call alone":                 {`commentary to=functions.ls json{"path":"a"}`, `|ls {"path":"a"}`},
		"a call after a server's head": {`assistantcommentary to=functions.ls json{"path":"a"}`, `|ls {"path":"a"}`},
		"braces in strings":            {`analysisWrite.assistantcommentary to=functions.write_file json{"content":"if {\n\"}\" assistantfinal","path":"a"}`, `(Write.)|write_file {"content":"if {\n\"}\" assistantfinal","path":"a"}`},
		"two calls": {`analysisBoth.assistantcommentary to=functions.ls json{"path":"a"}assistantcommentary to=functions.ls json{"path":"b"}`,
			`(Both.)|ls {"path":"a"}|ls {"path":"b"}`},
		"two calls, the second without its speaker": {`analysisBoth.assistantcommentary to=functions.ls json{"path":"a"}commentary to=functions.ls json{"path":"b"}`,
			`(Both.)|ls {"path":"a"}|ls {"path":"b"}`},
		"words before a call": {`analysisList.assistantcommentaryLet me look.assistantcommentary to=functions.ls json{"path":"a"}`,
			`(List.)Let me look.|ls {"path":"a"}`},
		"a second thought": {"analysisOne.assistantanalysisTwo.assistantfinalDone.", "(One.Two.)Done."},

		"prose":                   {"analysis of the data shows growth", "analysis of the data shows growth"},
		"a heading":               {"analysis: growth", "analysis: growth"},
		"Analysis":                {"AnalysisUser asks.assistantfinalHello", "AnalysisUser asks.assistantfinalHello"},
		"a name in code":          {"analysisResult is the name of the variable.", "analysisResult is the name of the variable."},
		"code":                    {"analysisResult = run()\nfinalValue = analysisResult.best()\n", "analysisResult = run()\nfinalValue = analysisResult.best()\n"},
		"a name":                  {"commentaryTrack plays.", "commentaryTrack plays."},
		"another name":            {"finalValue is 3. The assistant to=nobody knows.", "finalValue is 3. The assistant to=nobody knows."},
		"a longer word":           {"assistantfinalize() ends it.", "assistantfinalize() ends it."},
		"in the middle":           {"The log has analysisUser asks.assistantfinalHello in it.", "The log has analysisUser asks.assistantfinalHello in it."},
		"words to nobody":         {"commentary to=functions.fly json{}", "commentary to=functions.fly json{}"},
		"words about a recipient": {"commentary to=readers is welcome", "commentary to=readers is welcome"},
		"only a word":             {"analysis", "analysis"},
		"almost a word":           {"assistantfin", "assistantfin"},

		"Functionary: a call":        {">>>ls\n{\"path\": \"a\"}", `|ls {"path":"a"}`},
		"Functionary: words, a call": {">>>all\nLet me look.>>>ls\n{\"path\": \"a\"}", `Let me look.|ls {"path":"a"}`},
		"Functionary: words":         {">>>all\nHello.", "Hello."},
		"Functionary: two calls":     {">>>ls\n{\"path\": \"a\"}>>>ls\n{\"path\": \"b\"}", `|ls {"path":"a"}|ls {"path":"b"}`},
		"Functionary: marks inside":  {">>>write_file\n{\"content\": \">>>ls\\n{}\"}", `|write_file {"content":">>>ls\n{}"}`},
		"Functionary: another name":  {">>>fly\n{\"path\": \"a\"}", ">>>fly\n{\"path\": \"a\"}"},
		"Functionary: words behind":  {">>>ls\nand more", ">>>ls\nand more"},
		"a prompt of Python":         {"Type this:\n>>> ls\n{}\n>>> import os\n", "Type this:\n>>> ls\n{}\n>>> import os\n"},
		"a prompt in code":           {"```\n>>>ls\n{\"path\": \"a\"}\n```\n", "```\n>>>ls\n{\"path\": \"a\"}\n```\n"},
		"a quote of a quote":         {">>> she wrote\n>>all of it\n>>>\n", ">>> she wrote\n>>all of it\n>>>\n"},
		"shifts":                     {"x >>> 2 and x>>>ls", "x >>> 2 and x>>>ls"},
		"a mark of a merge":          {">>>>>>> all\nx", ">>>>>>> all\nx"},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i <= len(c.in); i++ {
				j := i + (len(c.in)-i)/2
				for kind, make := range map[string]func(agent.Model) agent.Model{"text": texttools.Always, "native": texttools.Native} {
					script := &agenttest.Script{Replies: []agenttest.Reply{said("stop", c.in[:i], c.in[i:j], c.in[j:])}}
					if got := spoken(answer(t, make(script), request(offered()))); got != c.want {
						t.Fatalf("%s, cut at %d and %d: %q, want %q", kind, i, j, got, c.want)
					}
				}
			}
			var letters []string
			for _, letter := range c.in {
				letters = append(letters, string(letter))
			}
			script := &agenttest.Script{Replies: []agenttest.Reply{said("stop", letters...)}}
			if got := spoken(answer(t, texttools.Native(script), request(offered()))); got != c.want {
				t.Fatalf("by letter: %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnAnswerBehindAnUnmarkedThoughtStreams shows each word of it as it comes.
func TestAnAnswerBehindAnUnmarkedThoughtStreams(t *testing.T) {
	script := &agenttest.Script{Replies: []agenttest.Reply{said("stop", "analysis", "They greet.", "assistantfinal", "Hello", " there", ", you", ".")}}
	var got []string
	for k, err := range texttools.Native(script).Stream(t.Context(), request(offered())) {
		if err != nil {
			t.Fatal(err)
		}
		if k.Text != "" {
			got = append(got, k.Text)
		}
	}
	if strings.Join(got, "|") != "Hello| there|, you|." {
		t.Errorf("%q", got)
	}
}

// TestWordsOfChannelsInTheQuestionAreNoChannels leaves an answer about them alone.
func TestWordsOfChannelsInTheQuestionAreNoChannels(t *testing.T) {
	const in = "analysisX is cut before assistantfinal, as you see."
	script := &agenttest.Script{Replies: []agenttest.Reply{said("stop", in)}}
	ask := &agent.Message{ID: "h", Type: agent.TypeHuman, Content: agent.Text("Why does it say assistantfinal?")}
	if got := spoken(answer(t, texttools.Native(script), request(offered(), ask))); got != in {
		t.Errorf("%q", got)
	}
}
