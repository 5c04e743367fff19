// Package mcpserver is Fawn as a server of the Model Context Protocol: other agents give it tasks, wait for them,
// answer its questions and read its files. Its tools work through the HTTP API, with its checks, as the principal of
// the request.
package mcpserver

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fawn/agent/runs"
	"fawn/web/httpx"
	"fawn/web/inproc"
)

// maxBody limits one message of a client, including its files: 24 MiB.
const maxBody = 24 << 20

// Options holds the dependencies of the server.
type Options struct {
	API      http.Handler // the native API at /api, which reads the principal in the context
	Runs     *runs.Manager
	URL      func() string // returns the address of the pages
	Version  string
	Draining context.Context // cancelled when waiting should end
	Readers  func() int      // returns the limit of concurrent waiters
}

// Server answers clients of the protocol over HTTP. It keeps no sessions: each request is
// self-contained, so a restart ends nothing.
type Server struct {
	Options
	api     inproc.Client
	handler http.Handler
	waiting httpx.Limiter
	beat    time.Duration // heartbeat interval
}

const instructions = `Fawn is an agent that works on tasks by itself: it plans, searches and reads the web, runs ` +
	`code in a sandbox and writes files. Give it a task with ask, which waits for the answer, or with start_task and ` +
	`wait_task if it may take minutes. A task with the status input_required has a question: answer it with ` +
	`answer_question. ` +
	`Its files are listed by list_artifacts and read with read_artifact. Go on in the same conversation by its thread_id.`

// schemas caches the tools' schemas for the next server of this process.
var schemas = sdk.NewSchemaCache()

// New returns a server.
func New(o Options) *Server {
	s := &Server{Options: o, api: inproc.Client{API: o.API}, beat: httpx.Heartbeat}
	server := sdk.NewServer(&sdk.Implementation{Name: "fawn", Title: "Fawn", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, Logger: slog.New(slog.DiscardHandler), SchemaCache: schemas,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}}})
	s.addTools(server)
	s.addResources(server)
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return server
	}, &sdk.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true}) // hosts are checked in front of every route
	return s
}

// leftKey is the key of the context of the HTTP request.
type leftKey struct{}

// ServeHTTP implements http.Handler. The principal must be in the context of the request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The protocol's own contexts outlive clients of its older versions.
	s.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), leftKey{}, r.Context())))
}

// waits returns a context that also ends when the client leaves or the server stops.
func (s *Server) waits(ctx context.Context) (context.Context, func()) {
	ctx, done := httpx.Until(ctx, s.Draining, runs.ErrClosed)
	request, ok := ctx.Value(leftKey{}).(context.Context)
	if !ok {
		return ctx, done
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(request, func() { cancel(context.Cause(request)) })
	return ctx, func() {
		stop()
		cancel(nil)
		done()
	}
}

func (s *Server) addTools(server *sdk.Server) {
	begin := schemaOf[beginning]()
	mode := begin.Properties["mode"]
	mode.Enum = []any{"flash", "thinking", "pro", "ultra"}
	mode.Description = "flash answers at once, thinking reasons first, pro also plans, ultra also sends helpers"
	reads, acts := &sdk.ToolAnnotations{ReadOnlyHint: true}, &sdk.ToolAnnotations{DestructiveHint: new(bool)}
	sdk.AddTool(server, &sdk.Tool{Name: "ask", Title: "Ask Fawn", InputSchema: begin, Annotations: acts,
		Description: "Give Fawn a task or a message and wait for the answer. Without thread_id it begins a new " +
			"conversation. If the task takes longer than wait_seconds, the result says so: go on with wait_task."}, s.ask)
	sdk.AddTool(server, &sdk.Tool{Name: "start_task", Title: "Start a task", InputSchema: begin, Annotations: acts,
		Description: "Give Fawn a task and return at once. Its outcome comes from wait_task or get_task."}, s.start)
	sdk.AddTool(server, &sdk.Tool{Name: "wait_task", Title: "Wait for a task", Annotations: reads,
		InputSchema: schemaOf[waiting](),
		Description: "Wait until a task has ended or has a question. Steps are told as progress meanwhile."}, s.wait)
	sdk.AddTool(server, &sdk.Tool{Name: "get_task", Title: "Status of a task", Annotations: reads,
		Description: "What has become of a task: its status, answer, question and files."}, s.get)
	sdk.AddTool(server, &sdk.Tool{Name: "answer_question", Title: "Answer Fawn's question", Annotations: acts,
		InputSchema: schemaOf[answering](),
		Description: "Answer the question of a task whose status is input_required, and wait as ask does."}, s.answer)
	sdk.AddTool(server, &sdk.Tool{Name: "cancel_task", Title: "Cancel a task",
		Description: "End a task. What it has written so far stays."}, s.cancel)
	sdk.AddTool(server, &sdk.Tool{Name: "list_threads", Title: "List conversations", Annotations: reads,
		Description: "The conversations, the latest first."}, s.threads)
	sdk.AddTool(server, &sdk.Tool{Name: "list_artifacts", Title: "List files", Annotations: reads,
		Description: "The files that Fawn has presented in a conversation."}, s.artifacts)
	sdk.AddTool(server, &sdk.Tool{Name: "read_artifact", Title: "Read a file", Annotations: reads,
		Description: "Read a file of a conversation. Text comes in parts of up to 64 KiB: go on with offset. Pictures and " +
			"other files of up to 4 MiB come as they are, larger ones as a link."}, s.read)
}

// schemaOf returns the schema of a tool's input, for further changes. Optional members aren't declared
// nullable: some models support only one type.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a type of this package is always valid
	}
	for _, p := range schema.Properties {
		if len(p.Types) == 2 && p.Types[0] == "null" {
			p.Type, p.Types = p.Types[1], nil
		}
	}
	return schema
}
