package route

import (
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/web/principal"
)

// Route is a line of the table of routes. Its operation describes it in the document.
type Route struct {
	method, path string // as in OpenAPI
	who          principal.Policy
	op           string // id of its operation
	do           echo.HandlerFunc
}

// On returns an entry of the route table.
func On(method, path string, who principal.Policy, op string, do echo.HandlerFunc) Route {
	return Route{method, path, who, op, do}
}

// Add adds the routes of a table to g, each with its policy.
func Add(g *echo.Group, table []Route) {
	for _, r := range table {
		g.Add(r.method, served(r.path), principal.Allow(r.who, r.do))
	}
}

// parameters maps path parameters of the table to the router's form.
var parameters = strings.NewReplacer("{thread_id}", ":tid", "{run_id}", ":rid", "{assistant_id}", ":aid",
	"{task_id}", ":task", "{span_id}", ":span", "{checkpoint_id}", ":cid", "{cron_id}", ":cid", "{import_id}", ":import",
	"{feedback_id}", ":fid", "{question_id}", ":qid", "{call_id}", ":call", "{namespace}", ":ns", "{agent_name}", ":agent",
	"{name}", ":name", "{fact_id}", ":fact", "{session_id}", ":sid", "{token_id}", ":tokid", "{user_id}", ":uid",
	"{chat_id}", ":chat", "{project_id}", ":project", "{prompt_id}", ":prompt", "{group_id}", ":gid", "{announcement_id}", ":nid", "{comparison_id}", ":comparison", "{knowledge_id}", ":knowledge", "{source_id}", ":source", "{document_id}", ":document", "{member_id}", ":member", "{path}", "*")

// served returns a path of the table in the router's form.
func served(path string) string { return parameters.Replace(path) }
