package config

import (
	"time"

	"fawn/agent/middleware"
)

// Default returns the configuration of a server without any configuration files.
func Default() File {
	f := File{
		LogLevel:          "info",
		MaxRecursionLimit: 1000,
		Server: Server{
			MaxBodyBytes: 16 << 20, MaxMessageBytes: 4 << 20, MaxMetadataBytes: 64 << 10, MaxIDBytes: 64,
			MaxReaders: 2048, MaxHeaderBytes: 32 << 10, HeaderTimeout: 10 * time.Second,
		},
		Metrics:   Metrics{Enabled: true},
		Inspector: Inspector{Enabled: true, Prompts: true, Keep: 30 * 24 * time.Hour},
		Tracing:   Tracing{ServiceName: "fawn", SampleRatio: 1},
		Store:     Storage{Sync: "normal"},
		Runs: Runs{Resume: "auto", AllowDegradation: true, RecursionLimit: 100, MaxPending: 10_000,
			OnRecursionLimit: "answer"},
		Retention:  Retention{SweepEvery: time.Minute},
		Files:      Files{Region: "us-east-1", Cache: 10 << 30},
		Backup:     Backup{Keep: 7, Dir: "backups"},
		ThreadData: ThreadData{LazyInit: true},
		ToolSearch: ToolSearch{AutoPromoteTopK: 3},
		ToolOutput: middleware.DefaultOutputBudget(),
		Sandbox:    defaultSandbox(),
		Uploads: Uploads{
			MaxFiles: 10, MaxFileSize: 50 << 20, MaxTotalSize: 100 << 20,
			AutoConvertDocuments: true,
		},
		Knowledge:      Knowledge{MaxBytes: 1 << 30},
		Skills:         Skills{ContainerPath: "/mnt/skills"},
		SkillScan:      Switch{Enabled: true},
		SkillEvolution: SkillEvolution{SecurityFailClosed: true},
		Title:          middleware.DefaultTitle(),
		Summarization:  middleware.DefaultCompaction(),
		Memory:         defaultMemory(),
		Subagents: Subagents{
			Enabled: true, Timeout: 15 * time.Minute, MaxConcurrent: 3, MaxTotal: 6,
			TokenBudget: SubagentBudget{Enabled: true, WarnThreshold: 0.7},
		},
		Suggestions:        Suggestions{Enabled: true, MaxSuggestions: 3},
		OpenAIAPI:          OpenAIAPI{Enabled: true, Steps: "reasoning"},
		InputPolish:        InputPolish{Enabled: true, MaxChars: 4000},
		Web:                Web{Enabled: true, Fallback: true},
		Browser:            Browser{Enabled: true, Sessions: 4, IdleTimeout: 10 * time.Minute},
		LoopDetection:      middleware.DefaultLoop(),
		ReadBeforeWrite:    Switch{Enabled: true},
		SafetyFinishReason: Switch{Enabled: true},
		TokenUsage:         Switch{Enabled: true},
		TokenBudget:        middleware.DefaultBudget(),
		LLMCall:            middleware.DefaultRetry(),
		CircuitBreaker:     middleware.DefaultBreaker(),
		Guardrails:         Guardrails{FailClosed: true},
		Authorization:      Authorization{FailClosed: true, DefaultRole: "user"},
		Auth:               Auth{Required: "auto"},
		Database:           Database{Schema: "fawn", Migrate: "auto", Backend: "sqlite"},
		Cluster:            Cluster{Lease: 10 * time.Second, Wake: "notify", Slots: 200},
		Scheduler: Scheduler{Enabled: true, PollInterval: 5 * time.Second, MaxConcurrentRuns: 3,
			MinOnceDelay: time.Minute},
		MCPTasks:           MCPTasks{Enabled: true, PollInterval: 5 * time.Second, MaxConcurrentPolls: 8},
		ChannelConnections: ChannelConnections{Enabled: true, RequireBoundIdentity: true},
	}
	f.Logging.Enhance.Format = "text"
	return f
}

func defaultSandbox() Sandbox {
	return Sandbox{
		Provider: "auto", RequireLayers: []string{"mountns", "pidns", "no_new_privs"}, LazyInit: true,
		Lifetime: "thread", IdleTimeout: 10 * time.Minute, BackgroundTimeout: time.Hour, MaxSandboxes: 32,
		BashCommandTimeout: 10 * time.Minute, BashOutputMaxChars: 20000, ReadFileOutputMaxChars: 50000,
		LsOutputMaxChars: 20000, WriteFileMaxBytes: 81920,
		Limits: SandboxLimits{
			Memory: 1 << 30, Pids: 256, FileSize: 1 << 30, OpenFiles: 4096, Tmp: 256 << 20, Shm: 64 << 20,
			Disk: 2 << 30,
		},
		Network: SandboxNetwork{Mode: "proxy", Packages: true, AskTimeout: 2 * time.Minute},
		UIDBase: 231072,
	}
}

func defaultMemory() Memory {
	return Memory{
		Enabled: true, Mode: "middleware", InjectionEnabled: true,
		Backend: MemoryBackend{
			Debounce: 30 * time.Second, QueueMaxDepth: 1000, MaxFacts: 100, FactConfidenceThreshold: 0.7,
			MaxInjectedFacts: 15, MaxInjectionTokens: 2000, GuaranteedCategories: []string{"correction"},
			GuaranteedTokenBudget:  500,
			StalenessReviewEnabled: true, StalenessAgeDays: 90, StalenessMinCandidates: 3,
			StalenessMaxRemovalsPerCycle: 10, StalenessProtectedCategories: []string{"correction"},
			StalenessMaxLifetimeMultiplier: 20, StalenessMaxExtensionDays: 3650,
		},
	}
}

// SetDefaults implements [syntax.Defaulter].
func (a *ACPAgent) SetDefaults() { a.Timeout = 30 * time.Minute }

// SetDefaults implements [syntax.Defaulter].
func (a *CustomAgent) SetDefaults() { a.Model, a.MaxTurns, a.Timeout = "inherit", 50, 15*time.Minute }

// SetDefaults implements [syntax.Defaulter].
func (b *SubagentBudget) SetDefaults() { b.Enabled, b.WarnThreshold = true, 0.7 }

// SetDefaults implements [syntax.Defaulter].
func (p *Pricing) SetDefaults() { p.Currency = "USD" }

// SetDefaults implements [syntax.Defaulter].
func (s *SkillState) SetDefaults() { s.Enabled = true }

// SetDefaults implements [syntax.Defaulter].
func (r *Routing) SetDefaults() { r.Mode = "off" }

// SetDefaults implements [syntax.Defaulter].
func (p *OIDCProvider) SetDefaults() {
	p.Scopes = []string{"openid", "email", "profile"}
	p.TokenEndpointAuthMethod = "client_secret_post"
	p.AutoCreateUsers, p.RequireVerifiedEmail, p.PKCEEnabled, p.NonceEnabled = true, true, true, true
}

// SetDefaults implements [syntax.Defaulter].
func (s *MCPServer) SetDefaults() {
	s.Enabled, s.ToolNamePrefix = true, true
	s.Routing.SetDefaults()
}

// SetDefaults implements [syntax.Defaulter].
func (o *MCPOAuth) SetDefaults() {
	o.Enabled, o.GrantType, o.DefaultTokenType, o.RefreshSkew = true, "client_credentials", "Bearer", time.Minute
	o.TokenField, o.TokenTypeField, o.ExpiresInField = "access_token", "token_type", "expires_in"
}
