package gateway

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/agent/access"
	"fawn/agent/mcp"
	"fawn/agent/mcp/switches"
	"fawn/store"
	"fawn/web/httpx"
)

// threadServer is the state of an MCP server in a thread. A tool's switch is independent of its server's.
type threadServer struct {
	Name    string       `json:"name"`
	State   string       `json:"state"`
	Enabled bool         `json:"enabled"`
	Tools   []threadTool `json:"tools"`
}

type threadTool struct {
	Name        string `json:"name"` // as its server calls it
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
}

type threadServers struct {
	Servers []threadServer `json:"servers"`
}

// threadTools handles GET /threads/:tid/mcp/tools.
func (g *Gateway) threadTools(c echo.Context, t store.Thread) error {
	if g.MCP == nil || g.Switches == nil {
		return httpx.JSON(c, http.StatusOK, threadServers{[]threadServer{}})
	}
	off, err := g.Switches.Off(c.Request().Context(), t.ID)
	if err != nil {
		return err
	}
	may, err := g.Rights(c.Request().Context())
	if err != nil {
		return err
	}
	list := []threadServer{}
	for _, st := range g.MCP.Status() {
		if st.State == mcp.StateOff || !may.May(access.Server, st.Name) {
			continue
		}
		s := threadServer{Name: st.Name, State: st.State, Enabled: !off.HasServer(st.Name), Tools: []threadTool{}}
		for _, tool := range st.Tools {
			s.Tools = append(s.Tools, threadTool{tool.Name, tool.Description, !off.HasTool(st.Name, tool.Name)})
		}
		list = append(list, s)
	}
	return httpx.JSON(c, http.StatusOK, threadServers{list})
}

// putThreadTools handles PUT /threads/:tid/mcp/tools.
func (g *Gateway) putThreadTools(c echo.Context, t store.Thread) error {
	var b switches.Off
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	if g.MCP == nil || g.Switches == nil {
		return httpx.Errorf(http.StatusNotFound, "There are no MCP servers here")
	}
	_, err := g.Switches.Change(c.Request().Context(), t.ID, func(o *switches.Off) { *o = b })
	if errors.Is(err, switches.ErrTooMany) {
		return httpx.Invalid("body", "tools", "%v", err)
	}
	if err != nil {
		return err
	}
	return g.threadTools(c, t)
}
