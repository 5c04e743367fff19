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
	"fawn/web/inproc"
	"fawn/web/route"
)

// responsePrefix and the id of the run form the id of a response.
const responsePrefix = "resp_"

// responseRequest holds the fields of a request for a response that have an effect.
type responseRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions string          `json:"instructions"`
	Previous     string          `json:"previous_response_id"`
	Conversation json.RawMessage `json:"conversation"` // its id, or {"id"}
	Stream       bool            `json:"stream"`
	User         json.RawMessage `json:"user"`
	Choice       json.RawMessage `json:"tool_choice"`
	Metadata     json.RawMessage `json:"metadata"`
}

// messages returns the input of a request after its instructions.
func (q *responseRequest) messages() ([]message, error) {
	var list []message
	var text string
	switch {
	case route.Given(q.Input) == nil:
		return nil, invalid("input", "is required")
	case json.Unmarshal(q.Input, &text) == nil:
		list = []message{{Role: "user", text: text}}
	default:
		var err error
		if list, err = bounded[message](q.Input, maxMessages); err != nil {
			return nil, invalid("input", "want text or a list of items: "+err.Error())
		}
		for i := range list {
			if err := list[i].read(fmt.Sprintf("input[%d]", i)); err != nil {
				return nil, err
			}
		}
	}
	if len(list) == 0 {
		return nil, invalid("input", "is empty")
	}
	return list, nil
}

func (s *Server) create(c echo.Context) error {
	release, err := s.Readers.Acquire(s.Config().File.Server.MaxReaders)
	if err != nil {
		return err
	}
	defer release()
	var q responseRequest
	key, err := bind(c, &q)
	if err != nil {
		return err
	}
	if err := forced(q.Choice); err != nil {
		return err
	}
	ctx := c.Request().Context()
	v := &conversation{user: textOf(q.User), name: named(c), key: key}
	if route.Given(q.Conversation) != nil {
		v.name = textOf(q.Conversation)
		var object struct{ ID string }
		if json.Unmarshal(q.Conversation, &object) == nil && object.ID != "" {
			v.name = object.ID
		}
	}
	list, err := q.messages()
	if err != nil {
		return err
	}
	if v.past, v.new, err = divide(list); err != nil {
		return err
	}
	if v.model, err = s.resolve(ctx, q.Model); err != nil {
		return err
	}
	if q.Previous != "" {
		var known bool
		if v.at, known, err = s.recall(ctx, responseKey(strings.TrimPrefix(q.Previous, responsePrefix))); err != nil {
			return err
		}
		if !known {
			code, param := "previous_response_not_found", "previous_response_id"
			return &failure{Message: "There is no response " + route.Cut(q.Previous, 80), Type: "invalid_request_error", Param: &param, Code: &code,
				status: http.StatusBadRequest}
		}
		v.past, v.new = nil, list
	}
	if v.told = q.Instructions; v.told != "" && v.told != v.at.Told { // threads keep them
		system := message{Role: "system", text: v.told}
		if v.at.Thread == "" && len(v.past) > 0 {
			v.past = append([]message{system}, v.past...)
		} else {
			v.new = append([]message{system}, v.new...)
		}
	}
	if err := s.start(ctx, v); err != nil {
		return err
	}
	v.tell(c.Response().Header())
	r := newResponse(v, &q)
	if q.Stream {
		return s.responseStream(c, v, r)
	}
	w := &whole{}
	said, err := s.follow(c, v, w)
	if err != nil {
		return err
	}
	text, o, err := s.settled(c, v, said)
	if err != nil {
		return err
	}
	r.end(w.thoughts.String(), text, o)
	return httpx.JSON(c, http.StatusOK, r.body)
}

// response is a response being sent.
type response struct {
	body responseJSON
	id   string
}

// responseJSON is the JSON form of a response. Settings that agents lack are null.
type responseJSON struct {
	Created      int64           `json:"created_at"` // in seconds
	Error        *responseError  `json:"error"`
	ID           string          `json:"id"`
	Incomplete   *cutShort       `json:"incomplete_details"`
	Instructions *string         `json:"instructions"`
	MaxTokens    *int            `json:"max_output_tokens"`
	Metadata     json.RawMessage `json:"metadata"`
	Model        string          `json:"model"`
	Object       string          `json:"object"`
	Output       []any           `json:"output"`
	Parallel     bool            `json:"parallel_tool_calls"`
	Previous     *string         `json:"previous_response_id"`
	Reasoning    reasoningJSON   `json:"reasoning"`
	Status       string          `json:"status"`
	Store        bool            `json:"store"`
	Temperature  *float64        `json:"temperature"`
	Text         textJSON        `json:"text"`
	ToolChoice   string          `json:"tool_choice"`
	Tools        []any           `json:"tools"`
	TopP         *float64        `json:"top_p"`
	Truncation   string          `json:"truncation"`
	Usage        *responseUsage  `json:"usage"` // null until it has ended
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// cutShort returns the reason why an answer is incomplete.
type cutShort struct {
	Reason string `json:"reason"`
}

type reasoningJSON struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textJSON struct {
	Format textFormat `json:"format"`
}

type textFormat struct {
	Type string `json:"type"`
}

type responseUsage struct {
	Input        int             `json:"input_tokens"`
	InputDetails inputDetails    `json:"input_tokens_details"`
	Output       int             `json:"output_tokens"`
	Details      reasoningTokens `json:"output_tokens_details"`
	Total        int             `json:"total_tokens"`
}

type inputDetails struct {
	Cached int `json:"cached_tokens"`
}

type reasoningTokens struct {
	Reasoning int `json:"reasoning_tokens"`
}

func newResponse(v *conversation, q *responseRequest) *response {
	metadata := json.RawMessage(`{}`)
	if route.Given(q.Metadata) != nil {
		metadata = q.Metadata
	}
	r := &response{id: responsePrefix + v.run}
	r.body = responseJSON{ID: r.id, Object: "response", Created: stamp(time.Now()), Status: "in_progress", Model: v.model.ID,
		Output: []any{}, Instructions: route.TextOrNull(q.Instructions), Metadata: metadata, Previous: route.TextOrNull(q.Previous),
		Parallel: true, ToolChoice: "auto", Tools: []any{}, Store: true, Truncation: "disabled", Text: textJSON{textFormat{"text"}}}
	return r
}

func (u usage) response() *responseUsage {
	return &responseUsage{Input: u.Input, Output: u.Output, Total: u.Total}
}

// thought returns the item with the agent's reasoning and steps.
func (r *response) thought(text, status string) map[string]any {
	return map[string]any{"id": "rs_" + r.id[len(responsePrefix):], "type": "reasoning", "status": status,
		"summary": []any{map[string]string{"type": "summary_text", "text": text}}}
}

// said returns the item with the answer.
func (r *response) said(text, status string) map[string]any {
	content := []any{}
	if text != "" || status == "completed" {
		content = append(content, outputText(text))
	}
	return map[string]any{"id": "msg_" + r.id[len(responsePrefix):], "type": "message", "role": "assistant", "status": status, "content": content}
}

func outputText(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// end fills in what came of the run.
func (r *response) end(thoughts, text string, o outcome) {
	output := []any{}
	if thoughts != "" {
		output = append(output, r.thought(thoughts, "completed"))
	}
	r.body.Output, r.body.Usage = append(output, r.said(text, "completed")), o.usage.response()
	switch {
	case o.failed != "":
		r.body.Status, r.body.Error = "failed", &responseError{"server_error", o.failed}
	case finishOf(o) == "length":
		r.body.Status, r.body.Incomplete = "incomplete", &cutShort{"max_output_tokens"}
	case o.status == runs.Interrupted && o.reason == "":
		r.body.Status = "cancelled"
	default:
		r.body.Status = "completed"
	}
}

// responseStream sends a response as events.
func (s *Server) responseStream(c echo.Context, v *conversation, r *response) error {
	out, err := httpx.NewStream(c.Response(), s.beat)
	if err != nil {
		return err
	}
	defer out.Close()
	w := &events{out: out, r: r}
	for _, name := range []string{"response.created", "response.in_progress"} {
		if err := w.put(name, map[string]any{"response": r.body}); err != nil {
			return err
		}
	}
	said, err := s.follow(c, v, w)
	var text string
	var o outcome
	if err == nil {
		text, o, err = s.settled(c, v, said)
	}
	if httpx.Left(c.Request(), err) || errors.Is(err, runs.ErrClosed) {
		return err
	}
	if err != nil {
		f := failureOf(err)
		if f.status == http.StatusInternalServerError {
			return err
		}
		text, o.failed = said, f.Message
	}
	if rest := text[len(said):]; rest != "" {
		if err := w.says(rest); err != nil {
			return err
		}
	}
	if err := w.close(text); err != nil {
		return err
	}
	r.end(w.thoughts.String(), text, o)
	status := r.body.Status
	if status == "cancelled" { // it has no separate event
		status = "incomplete"
	}
	if err := w.put("response."+status, map[string]any{"response": r.body}); err != nil {
		return err
	}
	return w.flush()
}

// events are the events of a streamed response. Thoughts come first; thoughts after the beginning of the answer are
// omitted, since items can't be interleaved.
type events struct {
	out      *httpx.Stream
	buf      []byte
	seq      int
	r        *response
	thoughts strings.Builder
	thinking bool // the reasoning item is open
	saying   bool // the answer item is open
}

func (w *events) put(name string, more map[string]any) error {
	more["type"], more["sequence_number"] = name, w.seq
	w.seq++
	b, err := agent.Encode(more)
	if err != nil {
		return err
	}
	w.buf = httpx.AppendFrame(w.buf, name, b, httpx.ID{})
	return nil
}

// index returns the position of the answer among the items.
func (w *events) index() int {
	if w.thoughts.Len() > 0 {
		return 1
	}
	return 0
}

func (w *events) thinks(text string) error {
	if w.saying {
		return nil
	}
	id := w.r.thought("", "in_progress")["id"]
	if !w.thinking {
		w.thinking = true
		item := w.r.thought("", "in_progress")
		item["summary"] = []any{}
		if err := errors.Join(w.put("response.output_item.added", map[string]any{"output_index": 0, "item": item}),
			w.put("response.reasoning_summary_part.added", map[string]any{"item_id": id, "output_index": 0, "summary_index": 0,
				"part": map[string]string{"type": "summary_text", "text": ""}})); err != nil {
			return err
		}
	}
	w.thoughts.WriteString(text)
	return w.put("response.reasoning_summary_text.delta", map[string]any{"item_id": id, "output_index": 0, "summary_index": 0, "delta": text})
}

// thought closes the item of thoughts.
func (w *events) thought() error {
	if !w.thinking {
		return nil
	}
	w.thinking = false
	text := w.thoughts.String()
	item := w.r.thought(text, "completed")
	at := map[string]any{"item_id": item["id"], "output_index": 0, "summary_index": 0}
	done := map[string]any{"text": text}
	part := map[string]any{"part": map[string]string{"type": "summary_text", "text": text}}
	for k, value := range at {
		done[k], part[k] = value, value
	}
	return errors.Join(w.put("response.reasoning_summary_text.done", done), w.put("response.reasoning_summary_part.done", part),
		w.put("response.output_item.done", map[string]any{"output_index": 0, "item": item}))
}

func (w *events) says(text string) error {
	at := func(more map[string]any) map[string]any {
		more["item_id"], more["output_index"], more["content_index"] = w.r.said("", "")["id"], w.index(), 0
		return more
	}
	if !w.saying {
		if err := w.thought(); err != nil {
			return err
		}
		w.saying = true
		if err := errors.Join(w.put("response.output_item.added", map[string]any{"output_index": w.index(), "item": w.r.said("", "in_progress")}),
			w.put("response.content_part.added", at(map[string]any{"part": outputText("")}))); err != nil {
			return err
		}
	}
	return w.put("response.output_text.delta", at(map[string]any{"delta": text, "logprobs": []any{}}))
}

// close ends the items.
func (w *events) close(text string) error {
	if !w.saying {
		if err := w.says(""); err != nil {
			return err
		}
	}
	item := w.r.said(text, "completed")
	at := map[string]any{"item_id": item["id"], "output_index": w.index(), "content_index": 0}
	done, part := map[string]any{"text": text, "logprobs": []any{}}, map[string]any{"part": outputText(text)}
	for k, value := range at {
		done[k], part[k] = value, value
	}
	return errors.Join(w.put("response.output_text.done", done), w.put("response.content_part.done", part),
		w.put("response.output_item.done", map[string]any{"output_index": w.index(), "item": item}))
}

func (w *events) flush() error {
	err := w.out.Write(w.buf, true)
	w.buf = w.buf[:0]
	return err
}

// get sends an earlier response.
func (s *Server) get(c echo.Context) error {
	ctx, run := c.Request().Context(), strings.TrimPrefix(route.Param(c, "rid"), responsePrefix)
	at, known, err := s.recall(ctx, responseKey(run))
	if err != nil {
		return err
	}
	var row struct {
		usage
		Status  string    `json:"status"`
		Reason  *string   `json:"stop_reason"`
		Error   *string   `json:"error"`
		Created time.Time `json:"created_at"`
	}
	if known {
		err = s.API.Call(ctx, http.MethodGet, threadPath(at.Thread, "runs", run), nil, &row)
	}
	var told *inproc.Refusal
	if !known || errors.As(err, &told) && told.Status == http.StatusNotFound {
		return &failure{Message: "There is no response " + route.Cut(responsePrefix+run, 80), Type: "invalid_request_error", status: http.StatusNotFound}
	}
	if err != nil {
		return err
	}
	r := newResponse(&conversation{run: run, model: modelJSON{ID: at.Model}}, &responseRequest{})
	r.body.Created = stamp(row.Created)
	if !runs.Done(row.Status) {
		return httpx.JSON(c, http.StatusOK, r.body)
	}
	o := outcome{status: row.Status, usage: row.usage}
	if row.Reason != nil {
		o.reason = *row.Reason
	}
	o.failed = failed(row.Status, row.Error)
	r.end("", at.Text, o)
	return httpx.JSON(c, http.StatusOK, r.body)
}
