package web_test

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

func TestOnlyItsOwnHostNamesAreAnswered(t *testing.T) {
	t.Parallel()
	s := start(t, "server: {hosts: [fawn.example]}\n")
	for _, c := range []struct {
		name, host string
		status     int
	}{
		{"own address", strings.TrimPrefix(s.url, "http://"), 200},
		{"address without port", "127.0.0.1", 200},
		{"another loopback address", "127.5.6.7:80", 200},
		{"name", "localhost:2026", 200},
		{"name in capitals", "LocalHost", 200},
		{"six", "[::1]:2026", 200},
		{"six without port", "[::1]", 200},
		{"six written long", "[0:0:0:0:0:0:0:1]:1", 200},
		{"configured", "fawn.example:443", 200},
		{"configured in capitals", "Fawn.Example", 200},
		{"foreign", "evil.example", 421},
		{"foreign with our port", "evil.example:2026", 421},
		{"loopback as a part of a name", "127.0.0.1.evil.example", 421},
		{"localhost as a part of a name", "localhost.evil.example", 421},
		{"below a configured name", "a.fawn.example", 421},
		{"an address of others", "192.0.2.7", 421},
		{"every address", "0.0.0.0:2026", 421},
		{"six of others", "[2001:db8::1]:2026", 421},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := s.send(t, "GET", "/health", "", "Host", c.host)
			a.must(t, "the answer", c.status)
			if c.status == 421 && (!strings.Contains(a.body, "server.hosts") || !strings.Contains(a.body, `"detail"`)) {
				t.Errorf("no hint in %s", a.body)
			}
		})
	}
}

func TestHostsAreReloaded(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	get := func() int { return s.send(t, "GET", "/ok", "", "Host", "box.lan").status }
	if got := get(); got != http.StatusMisdirectedRequest {
		t.Fatalf("before: %d", got)
	}
	s.configure(t, "server: {hosts: [box.lan]}\n")
	webtest.Same(t, "after", get(), http.StatusOK)
}

func TestAddressOfTheConnectionIsAHost(t *testing.T) {
	t.Parallel()
	other := otherAddress(t)
	s := start(t, "", func(o *web.Options) { o.Addr, o.Insecure = "0.0.0.0:0", true })
	port := s.url[strings.LastIndexByte(s.url, ':'):]
	if want := "http://localhost" + port; s.app.URL() != want {
		t.Errorf("the address to open is %s, want %s", s.app.URL(), want)
	}
	s.send(t, "GET", "/ok", "", "Host", other+port).want(t, "over the loopback", http.StatusMisdirectedRequest)
	s.url = "http://" + other + port
	s.send(t, "GET", "/ok", "").want(t, "by its address", http.StatusOK)
	s.send(t, "POST", "/threads", "{}", "Origin", "http://localhost:3000").want(t, "the loopback origin of another machine", http.StatusForbidden)
	s.send(t, "POST", "/threads", "{}", "Origin", s.url).want(t, "own origin", http.StatusOK)
}

// otherAddress is an IPv4 address of this machine that is not loopback.
func otherAddress(t *testing.T) string {
	addrs, err := net.InterfaceAddrs()
	must.Do(t, err)
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has the loopback only")
	return ""
}

// TestForeignHostsLearnNothing: a page whose name was pointed at this machine reads its
// answers, so they must not hold what the pages hold.
func TestForeignHostsLearnNothing(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	decoded[any](t, s.send(t, "POST", "/threads", `{"thread_id": "hidden-thread", "metadata": {"a": 1}}`))
	for _, headers := range [][]string{
		{"Accept", "text/html"},
		{"Accept", "text/html", "X-Fawn", "1"},
		{"Accept", "text/html", "HX-Request", "true"},
		{"Accept", "application/json"},
	} {
		for _, path := range []string{"/", "/workspace/chats", "/workspace/chats/hidden-thread",
			"/threads/hidden-thread", "/health", "/nothing"} {
			a := s.send(t, "GET", path, "", append(headers, "Host", "evil.example")...)
			a.want(t, fmt.Sprintf("%s %v", path, headers), http.StatusMisdirectedRequest, "!hidden-thread", "!<")
			if !strings.Contains(a.body, "server.hosts") || a.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %v: %v %s", path, headers, a.header, a.body)
			}
		}
	}
	a := s.send(t, "POST", "/ui/threads/hidden-thread/delete", "", "Accept", "text/html", "Origin",
		"https://evil.example", "Sec-Fetch-Site", "cross-site")
	a.want(t, "the answer", http.StatusForbidden, "!hidden-thread")
}

func TestOrigins(t *testing.T) {
	t.Setenv("GATEWAY_CORS_ORIGINS", "https://env.example, https://env2.example/")
	s := start(t, "server: {cors_origins: [\"https://app.example\"]}\n")
	port := s.url[strings.LastIndexByte(s.url, ':'):]
	const denied, open = false, true // whether scripts of that origin may read the answer
	for _, c := range []struct {
		name, origin, site string
		unsafe             int // status of a POST
		reads              bool
	}{
		{"no browser", "", "", 200, denied},
		{"the address bar", "", "none", 200, denied},
		{"same origin", s.url, "same-origin", 200, open},
		{"same origin, old browser", s.url, "", 200, open},
		{"same machine, other name", "http://localhost" + port, "same-site", 200, open},
		{"development server", "http://localhost:3000", "same-site", 200, open},
		{"development server on six", "http://[::1]:5173", "cross-site", 200, open},
		{"configured", "https://app.example", "cross-site", 200, open},
		{"from the environment", "https://env.example", "cross-site", 200, open},
		{"from the environment, with a slash", "https://env2.example", "", 200, open},
		{"null", "null", "", 403, denied},
		{"null of a sandboxed frame", "null", "cross-site", 403, denied},
		{"null that says same origin", "null", "same-origin", 403, denied},
		{"foreign", "https://evil.example", "cross-site", 403, denied},
		{"foreign, old browser", "https://evil.example", "", 403, denied},
		{"foreign without Origin", "", "cross-site", 403, denied},
		{"same site without Origin", "", "same-site", 403, denied},
		{"configured with another scheme", "http://app.example", "cross-site", 403, denied},
		{"configured with another port", "https://app.example:444", "cross-site", 403, denied},
		{"below a configured one", "https://x.app.example", "cross-site", 403, denied},
		{"loopback as a part of a name", "http://localhost.evil.example", "cross-site", 403, denied},
		{"loopback as user", "http://localhost@evil.example", "cross-site", 403, denied},
		{"loopback with user", "http://evil.example@localhost", "cross-site", 403, denied},
		{"loopback with a path", "http://localhost/", "cross-site", 403, denied},
		{"a file", "file://", "cross-site", 403, denied},
		{"an extension", "moz-extension://localhost", "cross-site", 403, denied},
	} {
		t.Run(c.name, func(t *testing.T) {
			var headers []string
			if c.origin != "" {
				headers = append(headers, "Origin", c.origin)
			}
			if c.site != "" {
				headers = append(headers, "Sec-Fetch-Site", c.site)
			}
			for _, method := range []string{"GET", "POST", "PATCH", "DELETE"} {
				path, want := "/threads", c.unsafe
				switch {
				case method == "GET":
					path, want = "/ok", 200
				case method != "POST" && c.unsafe == 200:
					path, want = "/threads/none", 404
				}
				a := s.send(t, method, path, "{}", headers...)
				a.want(t, method, want)
				allow := a.header.Get("Access-Control-Allow-Origin")
				exposed := a.header.Get("Access-Control-Expose-Headers")
				if c.reads && (allow != c.origin || exposed == "") || !c.reads && allow+exposed != "" {
					t.Errorf("%s: allowed origin %q, exposed headers %q", method, allow, exposed)
				}
				if !slices.Contains(a.header.Values("Vary"), "Origin") {
					t.Errorf("%s: Vary is %q", method, a.header.Get("Vary"))
				}
				if want == 403 && !strings.Contains(a.body, "server.cors_origins") {
					t.Errorf("%s: no hint in %s", method, a.body)
				}
				if a.header.Get("Access-Control-Allow-Credentials") != "" {
					t.Error("credentials are allowed")
				}
			}
		})
	}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	ask := func(origin, method string) answer {
		return s.send(t, "OPTIONS", "/threads/x/runs/stream", "", "Origin", origin,
			"Access-Control-Request-Method", method, "Access-Control-Request-Headers", "content-type,x-model")
	}
	a := ask("http://localhost:3000", "POST")
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
		!strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "POST") ||
		a.header.Get("Access-Control-Allow-Headers") != "content-type,x-model" {
		t.Errorf("of an allowed origin: %d %v", a.status, a.header)
	}
	for _, origin := range []string{"https://evil.example", "null"} {
		a := ask(origin, "DELETE")
		if a.status != http.StatusForbidden || a.header.Get("Access-Control-Allow-Origin") != "" ||
			a.header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("of %s: %d %v", origin, a.status, a.header)
		}
	}
}

func TestScriptsOfAllowedOriginsReadWhereARunIs(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t))
	a := s.send(t, "POST", "/threads/t1/runs/wait", human("SCRIPT{\"turns\":[{\"text\":\"hi\"}]}"), "Origin",
		"http://localhost:3000")
	a.must(t, "the answer", http.StatusOK)
	exposed := a.header.Get("Access-Control-Expose-Headers")
	for _, name := range []string{"Content-Location", "Location"} {
		if a.header.Get(name) == "" || !strings.Contains(exposed, strings.ToLower(name)) {
			t.Errorf("%s is %q, exposed are %s", name, a.header.Get(name), exposed)
		}
	}
	list := s.send(t, "POST", "/threads/search", `{"limit": 1}`, "Origin", "http://localhost:3000")
	if list.header.Get("X-Pagination-Total") != "1" || !strings.Contains(exposed, "x-pagination-total") {
		t.Errorf("%v, exposed are %s", list.header, exposed)
	}
}

func TestRequestsForOtherServersAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, "")
	for _, raw := range []string{
		"GET http://evil.example/ok HTTP/1.1\r\nHost: localhost\r\n\r\n", // the line wins over the header
		"GET /ok HTTP/1.0\r\n\r\n",
	} {
		if got := exchange(t, s, raw); !strings.HasPrefix(got, "HTTP/1.") || !strings.Contains(got, " 421 ") {
			t.Errorf("%q: %s", raw, got)
		}
	}
	got := exchange(t, s, "GET /ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	webtest.Holds(t, "a good one", got, " 200 ")
}

// exchange sends bytes as they are and returns the beginning of the answer.
func exchange(t *testing.T, s *server, raw string) string {
	t.Helper()
	got, err := tryExchange(s, raw)
	must.Do(t, err, raw)
	return got
}

func tryExchange(s *server, raw string) (string, error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprint(c, raw); err != nil {
		return "", err
	}
	b := make([]byte, 4096)
	n, err := c.Read(b)
	return string(b[:n]), err
}
