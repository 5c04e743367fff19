package web_test

import (
	"net/http"
	"strings"
	"testing"

	"fawn/web"
	"fawn/web/account"
	"fawn/web/e2e/scriptmodel"
)

// tryOf is the body of a try of a model at an address.
func tryOf(address string) string {
	return `{"name":"tried","use":"openai","model":"script","api_key":"k","base_url":"` + address + `"}`
}

// TestNobodyHasMetadataServicesTried, and the owner of a machine what runs on it.
func TestNobodyHasMetadataServicesTried(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	s := start(t, scriptedBy(model))
	if got := s.send(t, "POST", "/api/models/probe", tryOf(model.URL+"/v1")); !strings.Contains(got.body, `"ok":true`) {
		t.Errorf("a model of this machine: %d %s", got.status, got.body)
	}
	for _, at := range []string{"169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "metadata.google.internal"} {
		got := s.send(t, "POST", "/api/models/probe", tryOf("http://"+at+"/v1"))
		if got.status != http.StatusOK || !strings.Contains(got.body, "cloud metadata") {
			t.Errorf("%s: %d %s", at, got.status, got.body)
		}
		got = s.send(t, "PUT", "/api/mcp/config", `{"mcp_servers":{"m":{"type":"http","url":"http://`+at+`/mcp"}}}`)
		if got.status < 400 || got.status >= 500 || !strings.Contains(got.body, "cloud metadata") {
			t.Errorf("an MCP server at %s: %d %s", at, got.status, got.body)
		}
	}
}

// TestAdministratorsTryPublicAddresses, and private ones that the owner has opened for them.
func TestAdministratorsTryPublicAddresses(t *testing.T) {
	t.Parallel()
	model := scriptmodel.Start(t)
	for _, c := range []struct {
		name, conf string
		open       bool
	}{{"closed", "", false}, {"opened", "auth: {allow_private: [127.0.0.0/8]}\n", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ann := start(t, scriptedBy(model)+c.conf, func(o *web.Options) { o.Addr = "0.0.0.0:0" }).owner(t)
			zoe := ann.member(t, "zoe@x.org", account.RoleAdmin)
			server := `{"mcp_servers":{"m":{"type":"http","url":"` + model.URL + `/mcp","enabled":false}}}`
			if got := ann.do(t, "POST", "/api/models/probe", tryOf(model.URL+"/v1")); !strings.Contains(got.body, `"ok":true`) {
				t.Errorf("the owner: %d %s", got.status, got.body)
			}
			got := zoe.do(t, "POST", "/api/models/probe", tryOf(model.URL+"/v1"))
			if strings.Contains(got.body, `"ok":true`) != c.open || strings.Contains(got.body, "auth.allow_private") == c.open {
				t.Errorf("an administrator: %d %s", got.status, got.body)
			}
			got = zoe.do(t, "PUT", "/api/mcp/config", server)
			if (got.status == http.StatusOK) != c.open || strings.Contains(got.body, "auth.allow_private") == c.open {
				t.Errorf("an administrator adds an MCP server: %d %s", got.status, got.body)
			}
			if got := zoe.do(t, "POST", "/api/models/probe", tryOf("http://169.254.169.254/v1")); !strings.Contains(got.body, "cloud metadata") {
				t.Errorf("an administrator and a metadata service: %d %s", got.status, got.body)
			}
			if c.open {
				return
			}
			if got := ann.do(t, "PUT", "/api/mcp/config", server); got.status != http.StatusOK {
				t.Errorf("the owner adds an MCP server: %d %s", got.status, got.body)
			}
			if got := zoe.do(t, "PUT", "/api/mcp/config", server); got.status != http.StatusOK {
				t.Errorf("an administrator leaves the owner's server as it is: %d %s", got.status, got.body)
			}
		})
	}
}
