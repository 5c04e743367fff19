package config

// Guardrails asks a provider before each tool call.
type Guardrails struct {
	Enabled    bool     `yaml:"enabled"`
	FailClosed bool     `yaml:"fail_closed"` // a broken provider denies
	Passport   string   `yaml:"passport"`
	Provider   Provider `yaml:"provider"`
}

// Authorization configures permissions.
type Authorization struct {
	Enabled     bool     `yaml:"enabled"`
	FailClosed  bool     `yaml:"fail_closed"`
	DefaultRole string   `yaml:"default_role"`
	Provider    Provider `yaml:"provider"`
}

// Auth configures sign-in.
type Auth struct {
	// Whether people need an account: auto asks for one on addresses that other machines can reach.
	Required string `yaml:"required" enum:"auto|always|never" reload:"restart"`

	// ProxyHeader is the header in which a trusted proxy passes the e-mail address of the signed-in user.
	ProxyHeader string `yaml:"proxy_header" reload:"restart"`

	// AllowPrivate are private addresses or networks of models and MCP servers that administrators may try and add, as
	// owners may.
	AllowPrivate []string `yaml:"allow_private"`

	Local LocalAuth `yaml:"local"`
	OIDC  OIDC      `yaml:"oidc"`
}

// LocalAuth is log-in by e-mail address and password.
type LocalAuth struct {
	AllowRegistration bool `yaml:"allow_registration"`
}

// OIDC is log-in through other services.
type OIDC struct {
	Enabled         bool                    `yaml:"enabled"`
	FrontendBaseURL string                  `yaml:"frontend_base_url"`
	Providers       map[string]OIDCProvider `yaml:"providers"`
}

// OIDCProvider is one such service.
type OIDCProvider struct {
	DisplayName             string   `yaml:"display_name"`
	Issuer                  string   `yaml:"issuer" required:"true"`
	ClientID                string   `yaml:"client_id" required:"true"`
	ClientSecret            Secret   `yaml:"client_secret"`
	RedirectURI             string   `yaml:"redirect_uri"`
	Scopes                  []string `yaml:"scopes"`
	TokenEndpointAuthMethod string   `yaml:"token_endpoint_auth_method"`
	AutoCreateUsers         bool     `yaml:"auto_create_users"`
	RequireVerifiedEmail    bool     `yaml:"require_verified_email"`
	AllowedEmailDomains     []string `yaml:"allowed_email_domains"`
	AdminEmails             []string `yaml:"admin_emails"`
	PKCEEnabled             bool     `yaml:"pkce_enabled"`
	NonceEnabled            bool     `yaml:"nonce_enabled"`
}

// ChannelConnections lets people link their own accounts on chat services.
type ChannelConnections struct {
	Enabled              bool  `yaml:"enabled"`
	RequireBoundIdentity bool  `yaml:"require_bound_identity"`
	Extra                Extra `yaml:",inline"` // one entry per chat service
}
