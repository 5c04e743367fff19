package config

import "time"

// Extensions is extensions_config.json: the MCP servers and which skills are on.
type Extensions struct {
	MCPServers map[string]MCPServer  `yaml:"mcpServers" alias:"mcp_servers,servers"`
	Skills     map[string]SkillState `yaml:"skills"`
}

// SkillState turns one skill on or off. A skill without an entry is on.
type SkillState struct {
	Enabled bool `yaml:"enabled"`
}

// MCPServer is one entry of mcpServers. Args, Env, URL, Headers and OAuth may use $NAME.
type MCPServer struct {
	Enabled            bool               `yaml:"enabled"`
	Type               string             `yaml:"type" alias:"transport" enum:"stdio|sse|http|streamable_http|streamable-http"`
	Command            string             `yaml:"command"`
	Args               []string           `yaml:"args"`
	Env                Headers            `yaml:"env"`
	Sandboxed          bool               `yaml:"sandboxed"` // it runs in a sandbox
	Folders            []string           `yaml:"folders"`   // visible folders: HOST[:INSIDE][:rw]
	Hosts              []string           `yaml:"hosts"`     // reachable hosts
	URL                string             `yaml:"url"`
	Headers            Headers            `yaml:"headers"`
	OAuth              *MCPOAuth          `yaml:"oauth"`
	Description        string             `yaml:"description"`
	Routing            Routing            `yaml:"routing"`
	Tools              map[string]MCPTool `yaml:"tools"`
	ToolNamePrefix     bool               `yaml:"tool_name_prefix"`
	ToolCallTimeout    time.Duration      `yaml:"tool_call_timeout" min:"0"`    // 0 = no separate limit
	SessionInitTimeout time.Duration      `yaml:"session_init_timeout" min:"0"` // 0 = ten seconds, a minute for launchers that download
	PublicOnly         bool               `yaml:"public_only"`                  // only connect to public addresses and those of auth.allow_private
	Sampling           bool               `yaml:"sampling"`                     // it may ask for model calls, which its tools' runs pay for
	Extra              Extra              `yaml:",inline"`                      // kept when the file is written back

	Disabled string `yaml:"-"` // why the server cannot be used although Enabled; empty = it can
	Origin   Origin `yaml:"-"` // where the entry was written
}

// MCPTool changes one tool of a server.
type MCPTool struct {
	Routing *Routing `yaml:"routing"`
	Extra   Extra    `yaml:",inline"`
}

// Routing hints when a server's or a tool's use is preferred.
type Routing struct {
	Mode     string   `yaml:"mode" enum:"off|prefer"`
	Priority int      `yaml:"priority"`
	Keywords []string `yaml:"keywords"`
}

// GrantCode is the grant type of servers that people log in to.
const GrantCode = "authorization_code"

// MCPOAuth configures how to obtain a token for a server. Only GrantCode involves a person.
type MCPOAuth struct {
	Enabled          bool          `yaml:"enabled"`
	TokenURL         string        `yaml:"token_url"`
	GrantType        string        `yaml:"grant_type" enum:"client_credentials|refresh_token|authorization_code"`
	ClientID         string        `yaml:"client_id"`
	ClientSecret     Secret        `yaml:"client_secret"`
	RefreshToken     Secret        `yaml:"refresh_token"`
	Scope            string        `yaml:"scope"`
	Audience         string        `yaml:"audience"`
	TokenField       string        `yaml:"token_field"`
	TokenTypeField   string        `yaml:"token_type_field"`
	ExpiresInField   string        `yaml:"expires_in_field"`
	DefaultTokenType string        `yaml:"default_token_type"`
	RefreshSkew      time.Duration `yaml:"refresh_skew_seconds" min:"0"`
	ExtraTokenParams Headers       `yaml:"extra_token_params"`
}
