package config

import "time"

// Tool is one entry of tools[]: it offers a tool and selects its back end.
type Tool struct {
	Name  string `yaml:"name" required:"true"`
	Group string `yaml:"group"`
	Use   string `yaml:"use"`     // class path that selects the back end
	Extra Extra  `yaml:",inline"` // settings of the back end: api_key, base_url, max_results, timeout, …

	Disabled string `yaml:"-"` // why the tool cannot be used; empty = it can
	Origin   Origin `yaml:"-"` // where the entry was written
}

// Web configures web_search, web_fetch and image_search.
type Web struct {
	Enabled       bool     `yaml:"enabled"`
	Fallback      bool     `yaml:"fallback"`            // ask the next service when one fails
	Order         []string `yaml:"order"`               // services to ask first, by name; the others follow in the usual order
	SearXNGURL    string   `yaml:"searxng_url"`         // a search engine of one's own, asked before the public ones
	SearXNGPublic bool     `yaml:"searxng_public_only"` // only connect to it at public addresses and those of auth.allow_private
	AllowPrivate  []string `yaml:"allow_private"`       // private addresses or networks that web_fetch may read from
	Browser       string   `yaml:"browser"`             // for pages that need scripts: a path, an address, off; "" searches
	Ports         []int    `yaml:"ports"`               // ports web_fetch may connect to besides 80, 443, 8080 and 8443
}

// Browser configures whether agents may use a browser, and how many.
type Browser struct {
	Enabled     bool          `yaml:"enabled"`
	Sessions    int           `yaml:"sessions" min:"1" max:"64"` // concurrent sessions; the longest idle one is closed to make room
	IdleTimeout time.Duration `yaml:"idle_timeout" min:"1"`      // time after which an idle session is closed
}

// ToolSearch hides the schemas of MCP tools until the model searches for them.
type ToolSearch struct {
	Enabled         bool `yaml:"enabled"`
	AutoPromoteTopK int  `yaml:"auto_promote_top_k" min:"1" max:"5"` // schemas shown unasked per model call
}
