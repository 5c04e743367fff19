package agent_test

import (
	"context"
	"fmt"
	"log/slog"

	"fawn/agent"
	"fawn/agent/agenttest"
)

// An agent is put together from parts: a model, tools and a list of stages, each a plain
// value. Nothing is looked up anywhere.
func Example() {
	model := &agenttest.Script{Replies: []agenttest.Reply{
		agenttest.Call("c1", "add", `{"a":1,"b":2}`),
		agenttest.Say("The sum is 3."),
	}}
	add := &agent.Tool{Name: "add", Description: "adds two numbers", Schema: []byte(`{"type":"object"}`),
		Run: func(context.Context, *agent.Turn, agent.ToolCall) (agent.Result, error) {
			return agent.TextResult("3"), nil
		}}
	shout := agent.Middleware{Name: "shout", WrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, t *agent.Turn, c agent.ToolCall) (agent.Result, error) {
			fmt.Println("calling", c.Name)
			return next(ctx, t, c)
		}
	}}
	a := &agent.Agent{Model: model, Tools: []*agent.Tool{add}, Chain: []agent.Middleware{shout}, System: "You add."}

	turn := agenttest.Turn("1 + 2?", &agenttest.Sink{})
	if _, err := a.Run(context.Background(), turn); err != nil {
		fmt.Println(err)
	}
	last := turn.State.Messages[len(turn.State.Messages)-1]
	fmt.Println(last.Content.Text)
	// Output:
	// calling add
	// The sum is 3.
}

// A stage for debugging prints what the state holds before each model call and after it.
func ExampleMiddleware_debug() {
	debug := agent.Middleware{
		Name: "debug",
		BeforeModel: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			fmt.Printf("before: %d messages, %d artifacts\n", len(t.State.Messages), len(t.State.Artifacts))
			return agent.State{}, nil
		},
		AfterModel: func(_ context.Context, _ *agent.Turn, r *agent.Reply) error {
			fmt.Printf("after: %s\n", r.Message.Content.Text)
			return nil
		},
	}
	a := &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello.")}},
		Chain: []agent.Middleware{debug}}
	if _, err := a.Run(context.Background(), agenttest.Turn("hi", &agenttest.Sink{})); err != nil {
		fmt.Println(err)
	}
	// Output:
	// before: 1 messages, 0 artifacts
	// after: Hello.
}

// A stage that watches the size of the state warns when a thread has grown large.
func ExampleMiddleware_stateSize() {
	size := agent.Middleware{
		Name: "state_size",
		AfterAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			total := 0
			for _, m := range t.State.Messages {
				body, err := agent.Encode(m)
				if err != nil {
					return agent.State{}, err
				}
				total += len(body)
			}
			if total > 100 {
				t.Log.Warn("the state is large", "over", 100)
			}
			return agent.State{}, nil
		},
	}
	a := &agent.Agent{Model: &agenttest.Script{Replies: []agenttest.Reply{agenttest.Say("Hello.")}},
		Chain: []agent.Middleware{size}}
	turn := agenttest.Turn("hi", &agenttest.Sink{})
	turn.Log = slog.New(slog.NewTextHandler(printer{},
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	if _, err := a.Run(context.Background(), turn); err != nil {
		fmt.Println(err)
	}
	// Output: level=WARN msg="the state is large" over=100
}

type printer struct{}

func (printer) Write(p []byte) (int, error) {
	fmt.Print(string(p))
	return len(p), nil
}
