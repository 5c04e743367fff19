package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// agentCards are the paths at which agents look for each other.
var agentCards = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// agentCard describes the assistant of the query, else the graph's own, to other agents.
func (m mount) agentCard(c echo.Context) error { return m.cardOf(c, c.QueryParam("assistant_id")) }

// assistantCard describes the assistant of the path.
func (m mount) assistantCard(c echo.Context) error { return m.cardOf(c, route.Param(c, "aid")) }

func (m mount) cardOf(c echo.Context, id string) error {
	a, err := m.AssistantByID(c, id)
	if err != nil {
		return err
	}
	prefix, _, _ := strings.Cut(c.Request().URL.Path, "/a2a/")
	for _, end := range agentCards {
		prefix = strings.TrimSuffix(prefix, end)
	}
	return httpx.JSON(c, http.StatusOK,
		m.card(a, httpx.Root(c.Request())+strings.TrimRight(prefix, "/")+"/a2a/"+wire.Canonical(a.ID)))
}

// cardJSON is an agent card of A2A 0.3 that also has the fields of 1.0.
type cardJSON struct {
	Capabilities    cardCapabilities `json:"capabilities"`
	Input           []string         `json:"defaultInputModes"`
	Output          []string         `json:"defaultOutputModes"`
	Description     string           `json:"description"`
	Name            string           `json:"name"`
	Transport       string           `json:"preferredTransport"`
	ProtocolVersion string           `json:"protocolVersion"`
	Skills          []cardSkill      `json:"skills"`
	Interfaces      []cardInterface  `json:"supportedInterfaces"`
	URL             string           `json:"url"`
	Version         string           `json:"version"`
}

type cardCapabilities struct {
	Push      bool `json:"pushNotifications"`
	History   bool `json:"stateTransitionHistory"`
	Streaming bool `json:"streaming"`
}

type cardSkill struct {
	Description string   `json:"description"`
	Examples    []string `json:"examples"`
	ID          string   `json:"id"`
	Input       []string `json:"inputModes"`
	Name        string   `json:"name"`
	Output      []string `json:"outputModes"`
	Tags        []string `json:"tags"`
}

type cardInterface struct {
	Binding         string `json:"protocolBinding"`
	ProtocolVersion string `json:"protocolVersion"`
	URL             string `json:"url"`
}

// card returns the agent card of an assistant. It supports both versions of the protocol.
func (m mount) card(a store.Assistant, url string) cardJSON {
	description := a.Name + " assistant"
	if a.Description != nil && *a.Description != "" {
		description = *a.Description
	}
	kinds := []string{"text/plain", "application/json"}
	return cardJSON{Name: a.Name, Description: description, URL: url, Version: m.Version,
		ProtocolVersion: "0.3.0", Transport: "JSONRPC",
		Interfaces:   []cardInterface{{Binding: "JSONRPC", ProtocolVersion: "1.0", URL: url}},
		Capabilities: cardCapabilities{Streaming: true},
		Input:        kinds, Output: kinds,
		Skills: []cardSkill{{ID: wire.Canonical(a.ID) + "-main", Name: a.Name + " Capabilities", Description: description,
			Tags: []string{"assistant", "langgraph"}, Examples: []string{}, Input: kinds, Output: kinds}},
	}
}

// describeAgents returns the routes of the Agent2Agent protocol.
func describeAgents() []o.Op {
	const tag = "Agent2Agent"
	id := o.Nullable(o.AnyOf(o.String(), o.Number()))
	methods := o.Enum("message/send", "message/stream", "tasks/get", "tasks/cancel", "SendMessage",
		"SendStreamingMessage", "GetTask", "CancelTask")
	reply := o.AnyOf(o.Object(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", id), o.Req("result", o.Map(nil))),
		o.Object(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", id),
			o.Req("error", o.Object(o.Req("code", o.Int(-1<<31)), o.Req("message", o.String())))))
	ops := []o.Op{{ID: "callAgent", Tag: tag, Text: "Talk to an assistant as an agent, in JSON-RPC 2.0",
		More: "A context is a thread, a task its run. Streams are events named message, each the answer to the call. Errors are told in the body.",
		Lazy: true, RPC: true,
		Body: o.Body(o.Req("jsonrpc", o.Enum("2.0")), o.Req("id", o.AnyOf(o.String(), o.Number())),
			o.Req("method", methods), o.Opt("params", o.Map(nil))),
		Out:  append(route.Answered("The outcome, for streams one in each event", reply), route.Streamed()...),
		Fail: []int{400}}}
	for i, id := range []string{"getAssistantCard", "getAssistantAgentCard", "getAssistantAgentCardOld", "getAgentCard", "getAgentCardOld"} {
		op := o.Op{ID: id, Tag: tag, Text: "How an assistant introduces itself to other agents",
			Out: route.Answered("The card", o.Ref("AgentCard"))}
		if i > 2 {
			op.Fail = []int{404}
			op.Query = []o.Param{{Name: "assistant_id", Schema: o.String(), Text: "Which; without it the built-in one"}}
		}
		ops = append(ops, op)
	}
	return ops
}
