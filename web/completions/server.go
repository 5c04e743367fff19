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
	"fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

// mount is where the LangGraph API is that conversations are kept with.
const mount = "/api/langgraph"

// Options are what the routes work with.
type Options struct {
	API      inproc.Client // answers below /api/langgraph
	Runs     *runs.Manager
	Config   func() *config.Snapshot
	Access   *access.Service // knows what people may use; nil limits nobody
	Draining context.Context // over when streams should end
	Readers  *httpx.Limiter  // shared by everybody who holds a stream open
}

// Server answers clients of OpenAI's API.
type Server struct {
	Options
	began time.Time
	beat  time.Duration // between signs of life while nothing happens

	mu    sync.Mutex
	turns map[string]*turn // by conversation: a request finds its place and starts before the next one looks
}

// turn is that of the requests of one conversation.
type turn struct {
	sync.Mutex
	waiting int // for it, or in it
}

// New makes the server.
func New(o Options) *Server {
	return &Server{Options: o, began: time.Now(), beat: httpx.Heartbeat, turns: map[string]*turn{}}
}

// turn waits for the conversation's turn and returns the function that ends it.
func (s *Server) turn(v *conversation) (done func()) {
	key := v.at.Thread + "\n" + v.name + "\n" + v.key(v.past)
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
	model := openapi.Object(openapi.Req("id", openapi.String()), openapi.Req("object", openapi.Enum("model")),
		openapi.Req("created", openapi.Int(0)), openapi.Req("owned_by", openapi.String()))
	answer := openapi.Map(nil)
	ops := []openapi.Op{
		{ID: "listAgentsAsModels", Tag: tag, Text: "The agents, as models",
			Out: route.Answered("The list", openapi.Object(openapi.Req("object", openapi.Enum("list")), openapi.Req("data", openapi.List(model))))},
		{ID: "getAgentAsModel", Tag: tag, Text: "One agent, as a model", Out: route.Answered("The model", model)},
		{ID: "createChatCompletion", Tag: tag, Text: "Talk to an agent",
			More: "The conversation is recognised by the messages that the agent has answered, or by its name in the header X-Conversation-Id. Tools of the client aren't called.",
			Need: true, Body: openapi.Body(openapi.Req("model", openapi.String()), openapi.Req("messages", openapi.List(openapi.Map(nil))),
				openapi.Opt("stream", openapi.Bool()), openapi.Opt("stream_options", openapi.Map(nil)), openapi.Opt("user", openapi.String())),
			Out: []openapi.Answer{{Status: 200, Text: "The answer", Schema: answer},
				{Status: 200, Text: "Its chunks", Type: "text/event-stream", Schema: openapi.String()}}, Fail: []int{400, 404, 429}},
		{ID: "createResponse", Tag: tag, Text: "Talk to an agent, as a response",
			More: "previous_response_id goes on behind that response.",
			Need: true, Body: openapi.Body(openapi.Req("model", openapi.String()), openapi.Req("input", openapi.Any()),
				openapi.Opt("instructions", openapi.String()), openapi.Opt("previous_response_id", openapi.String()),
				openapi.Opt("conversation", openapi.Any()), openapi.Opt("stream", openapi.Bool())),
			Out: []openapi.Answer{{Status: 200, Text: "The response", Schema: answer},
				{Status: 200, Text: "Its events", Type: "text/event-stream", Schema: openapi.String()}}, Fail: []int{400, 404, 429}},
		{ID: "getResponse", Tag: tag, Text: "A response, as far as it has come", Out: route.Answered("The response", answer)},
	}
	ops = route.Place(ops, (&Server{}).routes(), false)
	for i := range ops {
		ops[i].Path = "/v1" + ops[i].Path
	}
	return ops
}
