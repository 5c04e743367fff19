package completions

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/runs"
	"fawn/web/httpx"
	"fawn/web/once"
	"fawn/web/principal"
	"fawn/web/route"
)

// maxBody limits the size of a request including its files: 64 MiB.
const maxBody = 64 << 20

// chatRequest holds the fields of a request for a chat completion that have an effect. Settings of the model such as temperature are the
// agent's own.
type chatRequest struct {
	Model    string          `json:"model"`
	Messages json.RawMessage `json:"messages"`
	Stream   bool            `json:"stream"`
	Options  struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	User   json.RawMessage `json:"user"` // text; Open WebUI sends an object to pipelines
	N      *int            `json:"n"`
	Choice json.RawMessage `json:"tool_choice"`
}

// bind reads the body of a request, and its key.
func bind(c echo.Context, into any) (key once.Key, err error) {
	r := c.Request()
	body, err := httpx.Body(r, httpx.Limit{Bytes: maxBody, Key: "no key"})
	if err != nil {
		return key, err
	}
	if key, err = once.Read(r, principal.Owner(r.Context()), body); err != nil {
		return key, err
	}
	return key, httpx.Decode(body, into)
}

// named returns the client's name of its conversation: our header, or those of Open WebUI and LibreChat.
func named(c echo.Context) string {
	for _, h := range []string{"X-Conversation-Id", "X-OpenWebUI-Chat-Id", "X-LibreChat-Conversation-Id"} {
		if v := c.Request().Header.Get(h); v != "" {
			return route.Cut(v, 200)
		}
	}
	return ""
}

// forced rejects a tool choice that can't be honored, since the agent has its own tools.
func forced(choice json.RawMessage) error {
	switch s := textOf(choice); s {
	case "", "auto", "none":
		return nil
	}
	return invalid("tool_choice", "tools of the client aren't called: the agent has its own")
}

func (s *Server) chat(c echo.Context) error {
	release, err := s.Readers.Acquire(s.Config().File.Server.MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	var q chatRequest
	key, err := bind(c, &q)
	if err != nil {
		return err
	}
	if q.N != nil && *q.N != 1 {
		return invalid("n", "want 1: an agent gives one answer")
	}
	if err := forced(q.Choice); err != nil {
		return err
	}
	if route.Given(q.Messages) == nil {
		return invalid("messages", "is required")
	}
	list, err := bounded[message](q.Messages, maxMessages)
	if err != nil {
		return invalid("messages", err.Error())
	}
	for i := range list {
		if err := list[i].read(fmt.Sprintf("messages[%d]", i)); err != nil {
			return err
		}
	}
	v := &conversation{user: textOf(q.User), name: named(c), key: key}
	if v.aside = isAside(list); v.aside {
		v.name = ""
	}
	if v.past, v.new, err = divide(list); err != nil {
		return err
	}
	if v.model, err = s.resolve(c.Request().Context(), q.Model); err != nil {
		return err
	}
	if err := s.start(c.Request().Context(), v); err != nil {
		return err
	}
	v.tell(c.Response().Header())
	if q.Stream {
		return s.chatStream(c, v, q.Options.Usage)
	}
	return s.chatWhole(c, v)
}

// finishOf returns the finish reason in the words of chat completions.
func finishOf(o outcome) string {
	switch o.reason {
	case "model_length_capped", "token_capped", "model_cut_off":
		return "length"
	}
	return "stop"
}

// completionJSON is a whole chat completion.
type completionJSON struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []choiceJSON `json:"choices"`
	Usage   usageJSON    `json:"usage"`
}

// choiceJSON is the one answer of a completion.
type choiceJSON struct {
	Index    int        `json:"index"`
	Message  answerJSON `json:"message"`
	Logprobs *string    `json:"logprobs"` // always null
	Finish   string     `json:"finish_reason"`
}

// answerJSON is an answer of the agent.
type answerJSON struct {
	Role      string  `json:"role"`
	Content   string  `json:"content"`
	Refusal   *string `json:"refusal"` // always null
	Reasoning string  `json:"reasoning_content,omitempty"`
}

// usageJSON counts tokens.
type usageJSON struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (u usage) chat() usageJSON { return usageJSON{u.Input, u.Output, u.Total} }

// whole collects an answer.
type whole struct{ thoughts strings.Builder }

func (w *whole) thinks(text string) error { w.thoughts.WriteString(text); return nil }
func (w *whole) says(string) error        { return nil }
func (w *whole) flush() error             { return nil }

func (s *Server) chatWhole(c echo.Context, v *conversation) error {
	w := &whole{}
	said, err := s.follow(c, v, w)
	if err != nil {
		return err
	}
	text, o, err := s.settled(c, v, said)
	if err != nil {
		return err
	}
	if o.failed != "" {
		return &failure{Message: o.failed, Type: "server_error", status: http.StatusBadGateway}
	}
	answer := answerJSON{Role: "assistant", Content: text, Reasoning: w.thoughts.String()}
	return httpx.JSON(c, http.StatusOK, completionJSON{ID: "chatcmpl-" + v.run, Object: "chat.completion", Created: stamp(time.Now()),
		Model: v.model.ID, Usage: o.usage.chat(), Choices: []choiceJSON{{Message: answer, Finish: finishOf(o)}}})
}

// chatStream sends an answer in chunks.
func (s *Server) chatStream(c echo.Context, v *conversation, withUsage bool) error {
	out, err := httpx.NewStream(c.Response(), s.beat)
	if err != nil {
		return err
	}
	defer out.Close()
	w := &chunks{out: out, id: "chatcmpl-" + v.run, model: v.model.ID, created: stamp(time.Now())}
	if err := w.delta(map[string]any{"role": "assistant", "content": ""}, nil); err != nil {
		return err
	}
	said, err := s.follow(c, v, w)
	if err != nil {
		return w.fails(c, err)
	}
	text, o, err := s.settled(c, v, said)
	if err != nil {
		return w.fails(c, err)
	}
	if o.failed != "" {
		return w.fails(c, &failure{Message: o.failed, Type: "server_error"})
	}
	if rest := text[len(said):]; rest != "" {
		if err := w.says(rest); err != nil {
			return err
		}
	}
	finish := finishOf(o)
	if err := w.delta(map[string]any{}, &finish); err != nil {
		return err
	}
	if withUsage {
		if err := w.put(map[string]any{"choices": []any{}, "usage": o.usage.chat()}); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, "data: [DONE]\n\n"...)
	return w.flush()
}

// chunks are the chunks of a streamed completion.
type chunks struct {
	out     *httpx.Stream
	buf     []byte
	id      string
	model   string
	created int64
}

func (w *chunks) put(more map[string]any) error {
	more["id"], more["object"], more["created"], more["model"] = w.id, "chat.completion.chunk", w.created, w.model
	b, err := agent.Encode(more)
	if err != nil {
		return err
	}
	w.buf = append(append(append(w.buf, "data: "...), b...), "\n\n"...)
	return nil
}

func (w *chunks) delta(delta map[string]any, finish *string) error {
	return w.put(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}})
}

func (w *chunks) thinks(text string) error {
	return w.delta(map[string]any{"reasoning_content": text}, nil)
}
func (w *chunks) says(text string) error { return w.delta(map[string]any{"content": text}, nil) }

func (w *chunks) flush() error {
	err := w.out.Write(w.buf, true)
	w.buf = w.buf[:0]
	return err
}

// fails ends a stream that had begun with an error, which clients raise. A server that stops cuts it off.
func (w *chunks) fails(c echo.Context, err error) error {
	if httpx.Left(c.Request(), err) || errors.Is(err, runs.ErrClosed) {
		return err
	}
	f := failureOf(err)
	if f.status == http.StatusInternalServerError {
		return err
	}
	b, encodeErr := agent.Encode(map[string]any{"error": f})
	if encodeErr != nil {
		return encodeErr
	}
	w.buf = append(append(append(w.buf, "data: "...), b...), "\n\ndata: [DONE]\n\n"...)
	return w.flush()
}
