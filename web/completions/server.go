package completions

import (
	"context"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/web/httpx"
	"fawn/web/inproc"
	"fawn/web/once"
	"fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

// mount is the path of the LangGraph API that stores the conversations.
const mount = "/api/langgraph"

// Options holds the dependencies of the routes.
type Options struct {
	API      inproc.Client // answers below /api/langgraph
	Runs     *runs.Manager
	Config   func() *config.Snapshot
	Access   *access.Service // checks permissions; nil enforces no limits
	Draining context.Context // cancelled when streams should end
	Keys     *once.Keys      // keys of requests that may be repeated
	Readers  *httpx.Limiter  // shared by all open streams
}

// Server answers clients of OpenAI's API.
type Server struct {
	Options
	began time.Time
	beat  time.Duration // heartbeat interval

	mu    sync.Mutex
	turns map[string]*turn // by conversation: a request finds its place and starts before the next one
}

// turn is that of the requests of one conversation.
type turn struct {
	sync.Mutex
	waiting int // requests waiting or inside
}

// New creates the server.
func New(o Options) *Server {
	return &Server{Options: o, began: time.Now(), beat: httpx.Heartbeat, turns: map[string]*turn{}}
}

// turn waits for the conversation's turn and returns the function that ends it.
func (s *Server) turn(v *conversation) (done func()) {
	key := v.at.Thread + "\n" + v.name + "\n" + v.keyOf(v.past)
	s.mu.Lock()
	t := s.turns[key]
	if t == nil {
		t = &turn{}
		s.turns[key] = t
	}
	t.waiting++
	s.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(s.turns, key)
		}
	}
}

// Routes adds the routes to g, which is at /v1.
func (s *Server) Routes(g *echo.Group) {
	g.Use(s.worded)
	route.Add(g, s.routes())
}

func (s *Server) routes() []route.Route {
	return []route.Route{
		route.On("GET", "/models", principal.User, "listAgentsAsModels", s.models),
		route.On("GET", "/models/{path}", principal.User, "getAgentAsModel", s.model),
		route.On("POST", "/chat/completions", principal.User, "createChatCompletion", s.chat),
		route.On("POST", "/responses", principal.User, "createResponse", s.create),
		route.On("GET", "/responses/{run_id}", principal.User, "getResponse", s.get),
	}
}

// Operations describes the routes.
func Operations() []openapi.Op {
	const tag = "OpenAI-compatible"
	conversation := []openapi.Param{{Name: "X-Conversation-Id", Schema: openapi.String(), Text: "The client's name of its conversation"}}
	events := openapi.Answer{Status: 200, Type: "text/event-stream", Schema: openapi.String()}
	chunks, told := events, events
	chunks.Text, told.Text = "Its chunks, and [DONE]", "Its events"
	response := openapi.Ref("Response")
	fail := []int{404, 410, 429, 502}
	ops := []openapi.Op{
		{ID: "listAgentsAsModels", Tag: tag, Text: "List agents, as models",
			Out: route.Answered("The list", openapi.Of[modelList](openapi.Is("object", openapi.Enum("list"))))},
		{ID: "getAgentAsModel", Tag: tag, Text: "Get an agent, as a model", Out: route.Answered("The model", openapi.Of[modelJSON]())},
		{ID: "createChatCompletion", Tag: tag, Text: "Talk to an agent",
			More: "The conversation is recognised by the messages that the agent has answered, or by its name in the header X-Conversation-Id. Tools of the client aren't called.",
			Need: true, Keyed: true, Header: conversation,
			Example: `{"model": "lead_agent", "messages": [{"role": "user", "content": "What can you do?"}], "stream": false}`,
			Body: openapi.Open(openapi.Reads[chatRequest](openapi.Req("model", openapi.String()),
				openapi.Req("messages", openapi.List(openapi.Map(nil))), openapi.Is("user", openapi.Any()), openapi.Is("n", openapi.Range(1, 1)))),
			Out: []openapi.Answer{{Status: 200, Text: "The answer", Schema: openapi.Of[completionJSON]()}, chunks}, Fail: fail},
		{ID: "createResponse", Tag: tag, Text: "Talk to an agent, as a response",
			More: "previous_response_id goes on behind that response.",
			Need: true, Keyed: true, Header: conversation,
			Example: `{"model": "lead_agent", "input": "What can you do?", "instructions": "Be brief."}`,
			Body: openapi.Open(openapi.Reads[responseRequest](openapi.Req("model", openapi.String()), openapi.Req("input", openapi.Any()),
				openapi.Is("user", openapi.Any()), openapi.Is("metadata", openapi.Map(nil)))),
			Out: []openapi.Answer{{Status: 200, Text: "The response", Schema: response}, told}, Fail: fail},
		{ID: "getResponse", Tag: tag, Text: "Get a response, as far as it has come", Out: route.Answered("The response", response)},
	}
	ops = route.Place(ops, (&Server{}).routes(), false)
	for i := range ops { // server middleware expects the other form
		ops[i].Path = "/v1" + ops[i].Path
		ops[i].Refusal = openapi.AnyOf(openapi.Ref("Failure"), openapi.Ref("Problem"))
	}
	return ops
}

// Schemas returns the schemas that [Operations] refers to by name.
func Schemas() map[string]openapi.Schema {
	return map[string]openapi.Schema{
		"Failure": openapi.Of[failureJSON](openapi.Is("error", openapi.Of[failure]())),
		"Response": openapi.Of[responseJSON](openapi.Is("object", openapi.Enum("response")), openapi.Is("metadata", openapi.Map(nil)),
			openapi.Is("status", openapi.Enum("in_progress", "completed", "incomplete", "failed", "cancelled")),
			openapi.Is("output", openapi.List(openapi.Map(nil))), openapi.Is("tools", openapi.List(openapi.Map(nil)))),
	}
}
