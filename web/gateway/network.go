package gateway

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"fawn/sandbox/egress"
	"fawn/sandbox/netguard"
	"fawn/store"
	"fawn/web/hostrules"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/route"
)

// networkJSON is a thread's questions about hosts, with their answers.
type networkJSON struct {
	Questions []egress.Question `json:"questions"`
	Decisions []egress.Decision `json:"decisions"`
}

// threadNetwork handles GET /threads/:tid/network.
func (g *Gateway) threadNetwork(c echo.Context, t store.Thread) error {
	return g.answerNetwork(c, t.ID)
}

func (g *Gateway) answerNetwork(c echo.Context, thread string) error {
	var out networkJSON
	var err error
	if out.Questions, err = g.Network.Questions(c.Request().Context(), thread); err != nil {
		return err
	}
	if out.Decisions, err = g.Network.Decisions(c.Request().Context(), thread); err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, out)
}

// hostAnswer is the body of decideNetwork.
type hostAnswer struct {
	Host   string        `json:"host"`
	Port   int           `json:"port"` // port of the question; an answer holds for all open ports
	Answer egress.Answer `json:"answer"`
}

// decideNetwork handles POST /threads/:tid/network.
func (g *Gateway) decideNetwork(c echo.Context, t store.Thread) error {
	var body hostAnswer
	if err := g.Bind(c, &body); err != nil {
		return err
	}
	if body.Port < 0 || body.Port > 65535 {
		return httpx.Invalid("body", "port", "want a port from 0 to 65535, got %d", body.Port)
	}
	if body.Answer == egress.Always {
		if err := principal.Allowed(c, operator); err != nil {
			return err
		}
	}
	err := g.Network.Answer(c.Request().Context(), t.ID, body.Host, body.Answer)
	switch {
	case errors.Is(err, hostrules.ErrAnswer):
		return httpx.Invalid("body", "answer", "want once, thread, always or no")
	case errors.Is(err, netguard.ErrHost):
		return httpx.Invalid("body", "host", "want the name or address of a host, got %q", route.Cut(body.Host, 80))
	case err != nil:
		return err
	}
	return g.answerNetwork(c, t.ID)
}

// openedHosts are the hosts that are open to every thread.
type openedHosts struct {
	Decisions []egress.Decision `json:"decisions"`
}

// openHosts handles GET /network: the hosts open to every thread.
func (g *Gateway) openHosts(c echo.Context) error {
	always, err := g.Network.Always(c.Request().Context())
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, openedHosts{always})
}

// closeHost handles DELETE /network?host=: from now on the host needs approval again.
func (g *Gateway) closeHost(c echo.Context) error {
	host := c.QueryParam("host")
	if plain, err := netguard.Host(host); err == nil {
		host = plain
	}
	was, err := g.Network.Forget(c.Request().Context(), host)
	if err != nil {
		return err
	}
	if !was {
		return httpx.Errorf(http.StatusNotFound, "Host %s isn't allowed for every thread", route.Cut(host, 80))
	}
	return g.openHosts(c)
}
