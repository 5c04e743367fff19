package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

func TestStagesOfTheSeeds(t *testing.T) { drive(t, seedStages()) }

// upload puts a file into the thread t1.
func (w *world) upload(t *testing.T, name string, content []byte) {
	t.Helper()
	body, kind := webtest.Form(t, "files", name, string(content))
	w.send(t, "POST", "/threads/t1/uploads", body, "Content-Type", kind)
}

// learns is an option of a world whose memory takes what was said.
func learns(into func(string)) setup {
	return func(_ *config.File, o *lead.Options) {
		o.Learn = func(t *agent.Turn, said []*agent.Message) {
			text := t.Owner + "/" + t.ThreadID
			for _, m := range said {
				text += "|" + m.Content.String()
			}
			into(text)
		}
	}
}

func seedStages() []driven {
	return []driven{
		{"thread_data", nil, func(t *testing.T, w *world) {
			w.when("hello", say("hi"))
			w.run(t, "hello", "")
			holds(t, "thread_data", string(w.values(t)["thread_data"]), `"workspace_path":"/mnt/user-data/workspace"`,
				`"uploads_path":"/mnt/user-data/uploads"`, `"outputs_path":"/mnt/user-data/outputs"`)
		}},
		{"uploads", nil, func(t *testing.T, w *world) {
			w.when("first", say("seen"))
			w.when("second", say("seen"))
			w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
			w.upload(t, "销售 数据 2024.csv", []byte("a,b\n1,2\n"))
			w.runInput(t, `{"messages":[{"type":"human","content":"first","additional_kwargs":{"files":[{"filename":"销售 数据 2024.csv","size":8}]}}]}`, "")
			w.upload(t, "b.txt", []byte("text"))
			w.run(t, "second", "")
			holds(t, "first request", w.request(t, 0).lines(), "<uploaded_files>",
				"/mnt/user-data/uploads/销售 数据 2024.csv", "!b.txt")
			second := w.request(t, 1).lines()
			holds(t, "second request", second, "/mnt/user-data/uploads/b.txt")
			webtest.Same(t, "the first file in\n"+second, strings.Count(second, "/mnt/user-data/uploads/销售 数据 2024.csv"), 1)
			holds(t, "state", string(w.values(t)["uploaded_files"]), "b.txt", "!销售 数据 2024.csv")
			holds(t, "message", string(w.values(t)["messages"]),
				`"files":[{"filename":"b.txt","size":4,"path":"/mnt/user-data/uploads/b.txt","status":"uploaded"}]`)
			w.when("third", say("seen"))
			w.send(t, "POST", "/threads/t1/state", `{"values":{"uploaded_files":[]}}`)
			w.run(t, "third", "")
			third := w.request(t, 2).lines()
			webtest.Same(t, "the second file in\n"+third, strings.Count(third, "/mnt/user-data/uploads/b.txt"), 1)
			webtest.Same(t, "a turn without uploads shows", string(w.values(t)["uploaded_files"]), "[]")
			w.upload(t, "c.txt", []byte("text"))
			w.send(t, "POST", "/threads/t1/state",
				`{"values":{"uploaded_files":[{"filename":"c.txt","size":4,"path":"/mnt/user-data/uploads/c.txt","extension":".txt"}]}}`)
			w.when("fourth", say("seen"))
			w.run(t, "fourth", "")
			holds(t, "request behind a written state", w.request(t, 3).lines(), "/mnt/user-data/uploads/c.txt")
			holds(t, "state", string(w.values(t)["uploaded_files"]), "c.txt", "!b.txt")
		}},
		{"sandbox", nil, func(t *testing.T, w *world) {
			w.when("go", call("bash", `{"description":"x","command":"date"}`))
			w.run(t, "go", "")
			holds(t, "request", w.request(t, 1).lines(), "tool: ran date")
			holds(t, "state", string(w.values(t)["sandbox"]), `"sandbox_id":"echo:t1"`)
		}},
		{"dangling_tool_calls", nil, func(t *testing.T, w *world) {
			w.when("go on", say("done"))
			w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
			w.send(t, "POST", "/threads/t1/state",
				`{"values":{"messages":[{"type":"human","content":"look"},{"type":"ai","content":"","tool_calls":[{"name":"ls","args":{},"id":"c1"},{"name":"glob","args":{},"id":"c2"}]}]}}`)
			w.run(t, "go on", "")
			const gap = "tool: [Tool call was interrupted and did not return a result.]\n"
			holds(t, "request", w.request(t, 0).lines(), "assistant:  [calls ls] [calls glob]\n"+gap+gap)
			holds(t, "log", w.log.String(), "Injecting 2 placeholder ToolMessage(s) for dangling tool calls",
				"thread=t1")
			holds(t, "log is not rewritten", string(w.values(t)["messages"]), "!was interrupted")
		}},
		{"compaction", func(f *config.File, _ *lead.Options) {
			f.Summarization.ModelName, f.Summarization.Keep = "helper", middleware.Amount{Type: "messages", Value: 2}
			f.Summarization.Trigger = []middleware.Amount{{Type: "messages", Value: 5}}
		}, func(t *testing.T, w *world) {
			w.when("Another model goes on", say("It was about paint. </summary>"))
			for i := range 3 {
				w.when(fmt.Sprint("question ", i), say(strings.Repeat("long words ", 4000)))
				w.run(t, fmt.Sprint("question ", i, " "), "")
			}
			var final request
			asked := 0
			for i := range w.model.Requests() {
				if r := w.request(t, i); r.Model == "helper-1" {
					asked++
					holds(t, "the summary's request", r.lines(), "<new_messages>", "User: question 0")
				} else {
					final = r
				}
			}
			webtest.Same(t, "summaries", asked, 1)
			holds(t, "request", final.lines(), "It was about paint. &lt;/summary&gt;", "question 2 ", "!question 0")
			holds(t, "the log stays whole", string(w.values(t)["messages"]), "question 0", "question 1", "question 2")
		}},
		{"plan_edits", nil, func(t *testing.T, w *world) {
			w.when("plan it", call("write_todos", `{"todos":[{"content":"look <up>","status":"completed"}]}`),
				say("Done."))
			w.when("go on", say("Gone on."))
			w.run(t, "plan it", `{"is_plan_mode":true}`)
			if _, err := w.runs.EditPlan(t.Context(), "t1", func(was []agent.Todo) ([]agent.Todo, error) {
				return append(was, agent.Todo{Content: "check <it>", Status: "pending"}), nil
			}); err != nil {
				t.Fatal(err)
			}
			w.run(t, "go on", "")
			holds(t, "note", w.request(t, 2).lines(), "The user has changed the plan.\nAdded: check &lt;it&gt;",
				"- [pending] check &lt;it&gt;")
		}},
		{"token_usage", nil, func(t *testing.T, w *world) {
			turn := say("hi")
			turn.Usage = &scriptmodel.Usage{Prompt: 40, Completion: 2}
			w.when("hello", turn)
			w.run(t, "hello", "")
			holds(t, "log", w.log.String(), "LLM token usage", "input=40 output=2 total=42")
			holds(t, "message", string(w.values(t)["messages"]),
				`"token_usage_attribution":{"version":1,"kind":"final_answer"`, `"total_tokens":42`, `"model":"main"`)
		}},
		{"title", func(f *config.File, _ *lead.Options) {
			f.Title.Enabled, f.Title.ModelName = true, "helper"
		}, func(t *testing.T, w *world) {
			w.when("Name this conversation", say("<think>hm</think>\"Red paint.\""))
			w.when("paint it </user>", say("A red answer."))
			w.run(t, "paint it </user>", "")
			webtest.Until(t, "the title", func() bool { return string(w.values(t)["title"]) == `"Red paint"` })
			named := w.request(t, 1)
			if named.Model != "helper-1" {
				named = w.request(t, 0)
			}
			holds(t, "request", named.lines(), "at most 8 words", "paint it &lt;/user&gt;", "A red answer.")
		}},
		{"view_image", nil, func(t *testing.T, w *world) {
			var picture bytes.Buffer
			must.Do(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 4, 4))))
			w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
			w.upload(t, "a.png", picture.Bytes())
			w.when("look", call("view_image", `{"image_path":"/mnt/user-data/uploads/a.png"}`), say("grey"))
			w.when("again", say("still grey"))
			w.run(t, "look", "")
			w.run(t, "again", "")
			holds(t, "request with the picture", w.request(t, 1).lines(), "data:image/png;base64,iVBOR", "image_url")
			holds(t, "the next one", w.request(t, 2).lines(), "!data:image")
			holds(t, "log", w.log.String(),
				"[ViewImageMiddleware] Injecting image details message with images before LLM call")
			values := w.values(t)
			holds(t, "state", string(values["messages"])+string(values["viewed_images"]), "!base64")
		}},
		{"clarification", nil, func(t *testing.T, w *world) {
			w.when("paint", call("ask_clarification",
				`{"question":"Which colour?","clarification_type":"approach_choice","context":"Two are there.","options":["red","blue"]}`))
			w.when("blue please", say("Blue it is."))
			w.run(t, "paint", "")
			state := webtest.Decode[struct {
				Next   []string `json:"next"`
				Values struct {
					Messages []struct {
						Name     string          `json:"name"`
						Content  json.RawMessage `json:"content"`
						Artifact json.RawMessage `json:"artifact"`
					} `json:"messages"`
				} `json:"values"`
			}](t, w.send(t, "GET", "/threads/t1/state", ""))
			m := state.Values.Messages[len(state.Values.Messages)-1]
			if len(state.Next) != 1 || state.Next[0] != "__interrupt__" || m.Name != "ask_clarification" ||
				w.last(t).Status != runs.Success {
				t.Errorf("next %v, last message %+v", state.Next, m)
			}
			holds(t, "question", string(m.Content), "🔀", `Two are there.\n\nWhich colour?`, "1. red", "2. blue")
			holds(t, "form", string(m.Artifact), `"input_mode":"choice_with_other"`, `"id":"option-1"`)
			holds(t, "log", w.log.String(), "[ClarificationMiddleware] Intercepted clarification request")
			w.run(t, "blue please", "")
			holds(t, "answer's request", w.request(t, 1).lines(), "[calls ask_clarification]\ntool: ",
				"user: blue please")
		}},
		{"state_size", nil, func(t *testing.T, w *world) {
			w.when("long", say("read"))
			w.run(t, "long "+strings.Repeat("x", 1<<20), "")
			holds(t, "log", w.log.String(), "State size exceeds 1 MB, consider summarization", "thread=t1")
		}},
	}
}

// TestEachStageIsDriven: whoever adds one to the chain adds what drives it.
func TestEachStageIsDriven(t *testing.T) {
	w := open(t, learns(func(string) {}), func(f *config.File, o *lead.Options) {
		f.Title.Enabled, f.Guardrails.Enabled, f.ToolSearch.Enabled = true, true, true
		rare := tool("rare", "")
		rare.Deferred = true
		o.Tools = []*agent.Tool{rare}
	})
	a, err := w.builder.Build(context.Background(),
		runs.Spec{ThreadID: "t1", RunID: "r1", Options: &agent.Options{PlanMode: true, Subagents: true}})
	must.Do(t, err)
	have := " " + strings.Join(stages(), " ") + " "
	for _, m := range a.Chain {
		webtest.Holds(t, "nothing drives the stage "+m.Name, have, " "+m.Name+" ")
	}
}
