package egress

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fawn/sandbox/netguard"
)

// denial is the reason for refusing a connection, and the client's message.
type denial struct {
	status  int
	verdict Verdict
	rule    string
	text    string // printable ASCII
}

// write answers an HTTP client. Many of them show the reason of the status
// line and not the body, so the text is in both.
func (d *denial) write(w io.Writer, req *http.Request) error {
	body := fmt.Sprintf("%d %s\n", d.status, d.text)
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		d.status, d.text, len(body))
	if req != nil && req.Method == http.MethodHead {
		body = ""
	}
	_, err := io.WriteString(w, head+body)
	return err
}

// blocked returns the answer for a host that is not open.
func blocked(host string, v Verdict, rule string) *denial {
	return &denial{http.StatusForbidden, v, rule,
		"blocked by sandbox network policy: " + host + " (ask the owner to add it to sandbox.network.allow)"}
}

func closedPort(host string, port int, l Limits) *denial {
	var open []string
	for _, p := range slices.Concat(l.HTTPPorts, l.TLSPorts) {
		open = append(open, strconv.Itoa(p))
	}
	return &denial{http.StatusForbidden, Forbidden, "port",
		fmt.Sprintf("blocked by sandbox network policy: %s port %d (open ports: %s)", host, port,
			strings.Join(open, ", "))}
}

// closedAddress describes the kind of a host's address without revealing it.
func closedAddress(host string, err error) *denial {
	reason := "not a public address"
	if refused := (*netguard.Refused)(nil); errors.As(err, &refused) {
		reason = refused.Reason
	}
	return &denial{http.StatusForbidden, Forbidden, "address " + reason,
		"blocked by sandbox network policy: " + host + " (" + reason +
			"; the owner may open private networks with sandbox.network.allow_private)"}
}

func overBudget(l Limits) *denial {
	return &denial{http.StatusTooManyRequests, Exhausted, "budget",
		fmt.Sprintf("sandbox network budget used up: a thread may receive %d MB and send %d MB a day", l.In>>20,
			l.Out>>20)}
}

func malformed(text string) *denial {
	return &denial{http.StatusBadRequest, Malformed, "request", text}
}
