package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"fawn/agent"
)

// DanglingToolCalls pairs calls and results again after other stages changed the request, and logs calls without a
// result: the model is told that they were interrupted.
func DanglingToolCalls() agent.Middleware {
	told := 0
	return agent.Middleware{
		Name: "dangling_tool_calls",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				missing := 0
				for _, m := range req.Messages {
					if m.Type == agent.TypeTool && strings.HasPrefix(m.ID, "missing:") {
						missing++
					}
				}
				if missing > told {
					t.Log.Warn(fmt.Sprintf("Injecting %d placeholder ToolMessage(s) for dangling tool calls", missing))
				}
				told = missing
				return next(ctx, t, req)
			}
		},
	}
}

// SystemMessages joins the system messages of a conversation to the system prompt: many
// providers take one, and only at the front.
func SystemMessages() agent.Middleware {
	system := func(m *agent.Message) bool { return m.Type == agent.TypeSystem }
	return agent.Middleware{
		Name: "system_messages",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if !slices.ContainsFunc(req.Messages, system) {
					return next(ctx, t, req)
				}
				parts := []string{req.System}
				for _, m := range req.Messages {
					if system(m) {
						parts = append(parts, neutral(m.Content.String()))
					}
				}
				req.System = strings.TrimSpace(strings.Join(parts, "\n\n"))
				req.Messages = slices.DeleteFunc(slices.Clone(req.Messages), system)
				return next(ctx, t, req)
			}
		},
	}
}

// largeState is the number of message characters that triggers a warning.
const largeState = 1_000_000

// StateSize logs the state a run begins with and its size at the end, at level debug, and warns
// when the thread has become large.
func StateSize() agent.Middleware {
	return agent.Middleware{
		Name: "state_size",
		BeforeAgent: func(ctx context.Context, t *agent.Turn) (agent.State, error) {
			if s := &t.State; t.Log.Enabled(ctx, slog.LevelDebug) {
				t.Log.Debug("Current state", "sandbox", inJSON{s.Sandbox}, "thread_data", inJSON{s.ThreadData},
					"artifacts", inJSON{s.Artifacts}, "viewed_images", inJSON{slices.Sorted(maps.Keys(s.ViewedImages))})
			}
			return agent.State{}, nil
		},
		AfterAgent: func(_ context.Context, t *agent.Turn) (agent.State, error) {
			size := sizeOf(&t.State)
			t.Log.Debug(fmt.Sprintf("Total state size: %.2f KB", float64(size)/1024))
			if size > largeState {
				t.Log.Warn("State size exceeds 1 MB, consider summarization", "bytes", size,
					"messages", len(t.State.Messages))
			}
			return agent.State{}, nil
		},
	}
}

// sizeOf returns the size in bytes of messages, images and artifacts.
func sizeOf(s *agent.State) int {
	size := 0
	for _, m := range s.Messages {
		size += len(m.Content.Text)
		for _, b := range m.Content.Blocks {
			size += len(b)
		}
		for _, c := range m.ToolCalls {
			size += len(c.Args)
		}
	}
	for path, image := range s.ViewedImages {
		size += len(path) + int(image.Size)
	}
	for _, path := range s.Artifacts {
		size += len(path)
	}
	return size
}

// inJSON is a value of a log line as clients would see it, in both forms of the log.
type inJSON struct{ v any }

// MarshalText implements encoding.TextMarshaler.
func (j inJSON) MarshalText() ([]byte, error) { return agent.Encode(j.v) }

// MarshalJSON implements json.Marshaler.
func (j inJSON) MarshalJSON() ([]byte, error) { return agent.Encode(j.v) }

// Continuation adds a message after a truncated answer when a run continues it: some providers reject a request that
// ends with an answer.
func Continuation() agent.Middleware {
	return agent.Middleware{
		Name: "continuation",
		WrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, t *agent.Turn, req *agent.Request) (*agent.Message, error) {
				if n := len(req.Messages); n > 0 && req.Messages[n-1].Type == agent.TypeAI {
					addNote(req, "continuation",
						"Your last answer ends here. If it was cut off, go on where it stopped without saying it again; else go on with the work.")
				}
				return next(ctx, t, req)
			}
		},
	}
}
