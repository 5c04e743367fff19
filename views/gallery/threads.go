package gallery

import (
	"time"

	"fawn/views"
)

const answer = `Over ten years the heat pump costs **€4,100 less** in the base case, mostly because gas is taxed on a rising path. [citation:ADEME price study](https://www.ademe.fr/prices)

## What drives the result

- Seasonal performance of 3.1 in the Lyon climate [citation:CRE tariffs](https://www.cre.fr/tariffs)
- Subsidy of €5,000 in the middle income band
  - paid after the works
  - only with a certified installer

| Item | Heat pump | Gas boiler |
|---|---:|---:|
| Installed, after aid | €9,200 | €5,400 |
| Energy, 10 years | €8,300 | €16,200 |
| **Total** | **€17,500** | **€21,600** |

` + "```python\ndef npv(flows, rate=0.03):\n    # discount yearly flows\n    return sum(f / (1 + rate) ** t for t, f in enumerate(flows))\n```" + `

> The result turns around if electricity rises by more than **4 %** a year.

- [x] prices checked
- [ ] installer quotes

1. Ask two installers for quotes.
2. Compare ` + "`SCOP`" + ` values, not the COP at 7 °C.
`

func steps() []views.Step {
	t := func(s views.Step) views.Step {
		s.ThreadID, s.Kind = "t1", views.StepTool
		if s.State == "" {
			s.State = views.StepDone
		}
		return s
	}
	return []views.Step{
		{ID: "m0", ThreadID: "t1", Kind: views.StepReasoning, State: views.StepDone, Elapsed: 4 * time.Second,
			Text: "The reader wants a **comparison**. First look at what is in the folder, then at the prices."},
		t(views.Step{ID: "c1", Tool: "ls", Args: raw(map[string]any{"path": "/mnt/user-data/uploads"}),
			Elapsed: 20 * time.Millisecond, Lines: 3, Output: "a.csv\nb.csv\nc.md"}),
		t(views.Step{ID: "c2", Tool: "read_file",
			Args:    raw(map[string]any{"path": "/mnt/user-data/uploads/prices.csv", "start_line": 1, "end_line": 40}),
			Elapsed: 31 * time.Millisecond}),
		t(views.Step{ID: "c3", Tool: "grep",
			Args:    raw(map[string]any{"pattern": "SCOP|COP", "path": "/mnt/user-data/uploads"}),
			Elapsed: 120 * time.Millisecond, Lines: 14, Output: "prices.csv:3: SCOP 3.1\nprices.csv:9: COP 4.2\n"}),
		{ID: "m1", ThreadID: "t1", Kind: views.StepNote, State: views.StepDone,
			Text: "The price list has no subsidies. I look for the rules next."},
		t(views.Step{ID: "c4", Tool: "web_fetch", State: views.StepFail,
			Args: raw(map[string]any{"url": "https://www.ecologie.gouv.fr/aides"}), Elapsed: 10 * time.Second,
			Error: "timed out after 10 s"}),
		t(views.Step{ID: "c8", Tool: "web_search", Args: raw(map[string]any{"query": "heat pump subsidy 2026"}),
			Elapsed: 1200 * time.Millisecond,
			Sites: []string{"ademe.fr", "cre.fr", "ecologie.gouv.fr", "service-public.fr", "insee.fr", "lyon.fr",
				"example.org", "example.com"}}),
		t(views.Step{ID: "c5", Tool: "write_file",
			Args:    raw(map[string]any{"path": "/mnt/user-data/outputs/model.py", "content": "print(1)"}),
			Elapsed: 12 * time.Millisecond}),
		t(views.Step{ID: "c6", Tool: "bash", Args: raw(map[string]any{"command": "python model.py --years 10"}),
			Elapsed: 1200 * time.Millisecond, Lines: 42,
			Output: "heat pump 17500\ngas boiler 21600\ndifference 4100\n"}),
	}
}

func user() *views.UserMessage {
	return &views.UserMessage{ID: "u1",
		Text:  "Compare the 10-year cost of a heat pump and a gas boiler for a 120 m² house in Lyon. Make a one-page report.",
		Files: []views.Attachment{{Name: "prices.csv", Path: "mnt/user-data/uploads/prices.csv", Bytes: 3100}}}
}

// Running returns a thread in the middle of a run.
func Running() views.Thread {
	list := append(steps(), views.Step{ID: "c7", ThreadID: "t1", Kind: views.StepTool, State: views.StepRun,
		Tool: "str_replace", Since: time.Now().Add(-7 * time.Second),
		Args: raw(map[string]any{"path": "/mnt/user-data/outputs/heat-pump-report.md"})})
	return views.Thread{ID: "t1", Title: "Heat pumps against gas boilers", Running: true,
		Cursor: "r1.5", Files: outputs()[:2], Turns: []views.Turn{
			{ID: "u1", User: user(), State: views.TurnRunning, Last: true,
				Trail: views.Trail{Open: true, Since: time.Now().Add(-42 * time.Second), Steps: list},
				Answer: &views.Answer{ID: "a1", Open: true,
					Text: "Over ten years the heat pump costs **€4,100 less** in the base"}},
		}}
}

// Done returns a thread with two finished turns.
func Done() views.Thread {
	return views.Thread{ID: "t1", Title: "Heat pumps against gas boilers", Cursor: "r1.99", Files: outputs(),
		Gauge: views.Gauge{Tokens: 39_680, Window: 128_000}, Turns: []views.Turn{
			{ID: "u0", User: &views.UserMessage{ID: "u0", Text: "Hello!\nWhat can you do?"}, State: views.TurnDone,
				Elapsed: 900 * time.Millisecond,
				Answer: &views.Answer{ID: "a0",
					Text: "I can read, write and search files and hand them over. Try `Build a web page`."}},
			{ID: "u1", User: user(), State: views.TurnDone, Last: true, Elapsed: 72 * time.Second, Tokens: 21_400,
				Model: "gpt-5.2", Run: "r1", Rating: 1,
				Cut: &views.Shortened{Turn: "u1", Inside: true,
					Summary: "The user wants a **comparison** over ten years.\n\n- `prices.csv` has the tariffs"},
				Trail:  views.Trail{Elapsed: 72 * time.Second, Steps: steps()},
				Answer: &views.Answer{ID: "a1", Text: answer}, Files: outputs()[:2]},
		}}
}

// Troubled returns a thread with a stopped, a failed and a queued turn.
func Troubled() views.Thread {
	stopped := steps()[:3]
	stopped[2].State = views.StepStop
	return views.Thread{ID: "t3", Title: "Trouble", Turns: []views.Turn{
		{ID: "u5", User: &views.UserMessage{ID: "u5", Text: "Count to a million."}, State: views.TurnStopped,
			Elapsed: 9 * time.Second, Trail: views.Trail{Elapsed: 9 * time.Second, Steps: stopped, Open: true},
			Answer: &views.Answer{ID: "a5", Text: "One, two, three"}, Resume: true},
		{ID: "u6", User: &views.UserMessage{ID: "u6", Text: "And backwards?"}, State: views.TurnFailed,
			Elapsed: 3 * time.Second, Trail: views.Trail{Elapsed: 3 * time.Second, Steps: steps()[5:6]},
			Failure: &views.Failure{Kind: views.FailureRateLimit,
				Cause: "429: Rate limit reached for requests per minute.", RequestID: "0192f3c8-77aa"}, Resume: true},
		{ID: "u8", User: &views.UserMessage{ID: "u8", Text: "All of it again."}, State: views.TurnFailed,
			Elapsed: 2 * time.Second,
			Failure: &views.Failure{Kind: views.FailureContext, Cause: "maximum context length is 128000 tokens",
				RequestID: "0192f3c8-77ab"}, Resume: true},
		{ID: "u7", User: &views.UserMessage{ID: "u7", Text: "Once more, please."}, State: views.TurnQueued, Last: true,
			Trail: views.Trail{Since: time.Now()}},
	}}
}
