package config

import (
	"time"

	"fawn/agent/middleware"
)

// File is the whole of config.yaml. The zero value is not useful; start from Default.
//
// Besides the key's name, struct tags hold alias (other accepted names), min and max (inclusive bounds), enum (allowed
// words), unit (ms or bytes; durations are seconds otherwise) and reload:"restart" for keys which take effect at the
// next start only.
type File struct {
	LogLevel          string `yaml:"log_level" enum:"debug|info|warn|warning|error|critical"` // least severe level that is logged
	Timezone          string `yaml:"timezone"`                                                // IANA name for dates told to the model; empty = the browser's, else the machine's
	MaxRecursionLimit int    `yaml:"max_recursion_limit" min:"1"`                             // most steps a client may ask for in one run

	Logging    Logging    `yaml:"logging"`
	Metrics    Metrics    `yaml:"metrics"`
	Inspector  Inspector  `yaml:"inspector"`
	Tracing    Tracing    `yaml:"tracing" reload:"restart"`
	Server     Server     `yaml:"server"`
	Store      Storage    `yaml:"store"`
	Runs       Runs       `yaml:"runs"`
	Retention  Retention  `yaml:"retention"`
	Backup     Backup     `yaml:"backup"`
	Webhooks   Webhooks   `yaml:"webhooks"`
	ThreadData ThreadData `yaml:"thread_data"`

	DefaultModel string `yaml:"default_model"` // name of the model that answers unless another is asked for; empty = the first

	Models []Model `yaml:"models"`
	Tools  []Tool  `yaml:"tools"`

	DisabledTools []string `yaml:"disabled_tools"` // built-in tools that no model is offered

	Web        Web                     `yaml:"web"`
	Browser    Browser                 `yaml:"browser"`
	ToolSearch ToolSearch              `yaml:"tool_search"`
	ToolOutput middleware.OutputBudget `yaml:"tool_output"`

	Sandbox Sandbox `yaml:"sandbox"`
	Uploads Uploads `yaml:"uploads"`

	Skills         Skills         `yaml:"skills"`
	SkillScan      Switch         `yaml:"skill_scan"`
	SkillEvolution SkillEvolution `yaml:"skill_evolution"`

	Title         middleware.TitleOptions      `yaml:"title"`
	Summarization middleware.CompactionOptions `yaml:"summarization"`
	Memory        Memory                       `yaml:"memory"`
	Subagents     Subagents                    `yaml:"subagents"`
	Suggestions   Suggestions                  `yaml:"suggestions"`
	InputPolish   InputPolish                  `yaml:"input_polish"`
	AgentsAPI     Switch                       `yaml:"agents_api"`
	OpenAIAPI     OpenAIAPI                    `yaml:"openai_api"`
	Knowledge     Knowledge                    `yaml:"knowledge"`
	Embeddings    Endpoint                     `yaml:"embeddings"`    // text embeddings, for semantic search
	Images        Endpoint                     `yaml:"images"`        // generates and edits images
	Speech        Speech                       `yaml:"speech"`        // reads aloud
	Transcription Endpoint                     `yaml:"transcription"` // speech to text

	LoopDetection      middleware.LoopOptions   `yaml:"loop_detection"`
	ReadBeforeWrite    Switch                   `yaml:"read_before_write"`
	SafetyFinishReason Switch                   `yaml:"safety_finish_reason"`
	TokenUsage         Switch                   `yaml:"token_usage"`
	TokenBudget        middleware.BudgetOptions `yaml:"token_budget"`
	LLMCall            middleware.RetryRules    `yaml:"llm_call"`
	CircuitBreaker     middleware.BreakerRules  `yaml:"circuit_breaker"`

	Guardrails    Guardrails    `yaml:"guardrails"`
	Authorization Authorization `yaml:"authorization"`
	Auth          Auth          `yaml:"auth"`

	Database  Database  `yaml:"database"`
	Cluster   Cluster   `yaml:"cluster"`
	Files     Files     `yaml:"files"`
	Scheduler Scheduler `yaml:"scheduler" reload:"restart"`
	MCPTasks  MCPTasks  `yaml:"mcp_tasks"`

	Channels           Extra               `yaml:"channels"` // chat apps, each with its own keys
	ChannelConnections ChannelConnections  `yaml:"channel_connections"`
	ACPAgents          map[string]ACPAgent `yaml:"acp_agents"`
}

// Switch is a section that can only be turned on or off.
type Switch struct {
	Enabled bool `yaml:"enabled"`
}

// OpenAIAPI configures the OpenAI-compatible API at /v1.
type OpenAIAPI struct {
	Enabled bool   `yaml:"enabled"`
	Models  bool   `yaml:"models"`                        // list models next to agents; the built-in agent answers with the chosen model
	Steps   string `yaml:"steps" enum:"reasoning|hidden"` // how clients see thoughts and tool calls
}

// Knowledge limits collections of documents.
type Knowledge struct {
	Folders  []string `yaml:"folders"`                           // folders of the server that may be sources, recursively
	MaxBytes int64    `yaml:"max_bytes" unit:"bytes" min:"1024"` // limit of text in a collection
}

// Endpoint is a model of an OpenAI-compatible API for other purposes than chat.
type Endpoint struct {
	BaseURL string `yaml:"base_url" alias:"api_base"` // root, or root + /v1; empty = OpenAI
	APIKey  Secret `yaml:"api_key"`
	Model   string `yaml:"model"` // the provider's name; empty = off
}

// Speech is a model that speaks.
type Speech struct {
	BaseURL string `yaml:"base_url" alias:"api_base"` // root, or root + /v1; empty = OpenAI
	APIKey  Secret `yaml:"api_key"`
	Model   string `yaml:"model"` // the provider's name; empty = off
	Voice   string `yaml:"voice"` // empty = alloy
}

// Logging configures log lines.
type Logging struct {
	Enhance LogLines `yaml:"enhance" reload:"restart"`
}

// LogLines configures the format of log lines and the logging of requests.
type LogLines struct {
	Enabled bool   `yaml:"enabled"`                 // add a trace id to every request's lines and answers
	Format  string `yaml:"format" enum:"text|json"` // form of a log line
}

// Server limits HTTP clients. Sizes are bytes and accept units such as 16MiB.
type Server struct {
	Hosts            []string      `yaml:"hosts"`                                     // extra host names that may appear in the Host header
	BasePath         string        `yaml:"base_path" reload:"restart"`                // path below which a reverse proxy shows this server
	TrustedProxies   []string      `yaml:"trusted_proxies" reload:"restart"`          // addresses, networks or the word loopback: proxies whose X-Forwarded headers are trusted
	TLS              TLS           `yaml:"tls" reload:"restart"`                      // whether the port speaks TLS itself
	CORSOrigins      []string      `yaml:"cors_origins"`                              // other origins that may call; GATEWAY_CORS_ORIGINS adds to it
	MaxBodyBytes     int64         `yaml:"max_body_bytes" unit:"bytes" min:"1024"`    // one JSON body
	MaxMessageBytes  int64         `yaml:"max_message_bytes" unit:"bytes" min:"1024"` // the text of one message
	MaxMetadataBytes int64         `yaml:"max_metadata_bytes" unit:"bytes" min:"64"`  // one metadata object
	MaxIDBytes       int           `yaml:"max_id_bytes" min:"36" max:"256"`           // an id chosen by a client
	MaxReaders       int           `yaml:"max_readers" min:"1"`                       // open event streams of all clients
	MaxHeaderBytes   int64         `yaml:"max_header_bytes" unit:"bytes" min:"4096" reload:"restart"`
	HeaderTimeout    time.Duration `yaml:"header_timeout" min:"1" reload:"restart"` // time to send the request headers
}

// Storage configures how the database writes.
type Storage struct {
	Sync string `yaml:"sync" enum:"normal|full" reload:"restart"` // full also survives power loss, slower
}

// Runs configures runs.
type Runs struct {
	Resume           string `yaml:"resume" enum:"auto|mark" reload:"restart"` // after a crash: continue the run, or mark it interrupted
	AllowDegradation bool   `yaml:"allow_degradation"`                        // turn a capability the model lacks off instead of ending the run
	RecursionLimit   int    `yaml:"recursion_limit" min:"1"`                  // step limit of runs whose client sets none
	MaxPending       int    `yaml:"max_pending" min:"1" reload:"restart"`     // runs that may wait; more are refused
	OnRecursionLimit string `yaml:"on_recursion_limit" enum:"answer|error"`   // then: a last turn without tools, or the error GraphRecursionError
}

// Retention configures when idle threads are deleted. Pinned threads are kept.
type Retention struct {
	MaxAge     time.Duration `yaml:"max_age" min:"0"`               // threads untouched for longer are deleted; 0 = never
	KeepLatest time.Duration `yaml:"keep_latest" min:"0"`           // threads untouched for longer lose their history; 0 = never
	MaxSize    int64         `yaml:"max_size" unit:"bytes" min:"0"` // of the database; above it the oldest threads lose their history and are then deleted; 0 = no limit
	SweepEvery time.Duration `yaml:"sweep_every" min:"1"`           // interval of checking that
}

// Backup schedules the server's backups.
type Backup struct {
	Every   time.Duration `yaml:"every" min:"0"` // time between two backups; 0 = only by cron
	Cron    string        `yaml:"cron"`          // minute hour day month weekday, by the clocks of the server
	Keep    int           `yaml:"keep" min:"1"`  // number of backups kept
	Dir     string        `yaml:"dir"`           // target folder; relative to the data folder
	Secrets bool          `yaml:"secrets"`       // include keys
}

// Webhooks limits the addresses that may be notified of finished runs.
type Webhooks struct {
	AllowPrivate []string `yaml:"allow_private"` // private addresses or networks that may be notified
}

// ThreadData configures when a thread's folders are created.
type ThreadData struct {
	LazyInit bool `yaml:"lazy_init"` // at first use instead of at the start of a run
}

// Uploads limits the files people add to a thread.
type Uploads struct {
	MaxFiles             int   `yaml:"max_files" alias:"max_file_count" min:"1"`                        // per request
	MaxFileSize          int64 `yaml:"max_file_size" alias:"max_single_file_size" unit:"bytes" min:"1"` // bytes of one file
	MaxTotalSize         int64 `yaml:"max_total_size" unit:"bytes" min:"1"`                             // bytes of one request
	AutoConvertDocuments bool  `yaml:"auto_convert_documents"`                                          // convert office documents and the like to Markdown files next to them
}

// TLS configures the certificate of the port: two files, or an ACME authority for the named domains. Without either the
// port speaks plain HTTP.
type TLS struct {
	Cert        string   `yaml:"cert"`         // PEM file with the certificate and its intermediates
	Key         string   `yaml:"key"`          // PEM file with its key
	Domains     []string `yaml:"domains"`      // names to get certificates for
	Email       string   `yaml:"email"`        // address for the authority's notifications
	Directory   string   `yaml:"directory"`    // address of another authority than Let's Encrypt
	DirectoryCA string   `yaml:"directory_ca"` // PEM file with the root certificate that vouches for that address
}

// Suggestions offers follow-up questions.
type Suggestions struct {
	Enabled        bool `yaml:"enabled"`
	MaxSuggestions int  `yaml:"max_suggestions" min:"1" max:"5"`
}

// InputPolish rewrites a draft before it is sent.
type InputPolish struct {
	Enabled   bool   `yaml:"enabled"`
	MaxChars  int    `yaml:"max_chars" min:"1"`
	ModelName string `yaml:"model_name"` // empty = the first model
}

// Provider selects an implementation by class path and passes it its settings.
type Provider struct {
	Use    string `yaml:"use"`
	Config Extra  `yaml:"config"`
}

// Metrics configures access to the server's metrics.
type Metrics struct {
	Enabled bool   `yaml:"enabled" reload:"restart"` // serve /metrics for operators
	Token   Secret `yaml:"token"`                    // also grants access as Authorization: Bearer
}

// Tracing configures where traces of runs are sent and what they contain.
type Tracing struct {
	Endpoint    string  `yaml:"endpoint"`                     // of a collector for OTLP over HTTP; empty disables it
	Headers     Headers `yaml:"headers"`                      // sent with every request to it
	ServiceName string  `yaml:"service_name"`                 // name of this server at the collector
	Content     bool    `yaml:"content"`                      // prompts, answers, arguments and results too
	SampleRatio float64 `yaml:"sample_ratio" min:"0" max:"1"` // share of the runs without a parent trace
}

// Inspector configures which details of a run's calls are kept for inspection.
type Inspector struct {
	Enabled bool          `yaml:"enabled" reload:"restart"` // record the calls of each run
	Prompts bool          `yaml:"prompts"`                  // also record the prompts
	Keep    time.Duration `yaml:"keep" min:"0"`             // retention; 0 keeps them as long as the thread
}

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

// Memory configures what Fawn remembers about people across threads.
type Memory struct {
	Enabled          bool          `yaml:"enabled"`
	Mode             string        `yaml:"mode" enum:"middleware|tool"` // learn after each turn, or only when the model calls the tools
	InjectionEnabled bool          `yaml:"injection_enabled"`
	Backend          MemoryBackend `yaml:"backend_config" flat:"true"` // its keys are also read directly under memory, as older files have them
}

// MemoryBackend holds the settings of memory itself.
type MemoryBackend struct {
	StoragePath             string        `yaml:"storage_path"` // path of an old memory.json; empty = the data folder
	Debounce                time.Duration `yaml:"debounce_seconds" min:"1" max:"300"`
	QueueMaxDepth           int           `yaml:"queue_max_depth" min:"0"` // waiting conversations; 0 = no limit
	Model                   MemoryModel   `yaml:"model"`
	ModelName               string        `yaml:"model_name"` // a name in models[]; empty = Model, else the run's model
	MaxFacts                int           `yaml:"max_facts" min:"10" max:"500"`
	FactConfidenceThreshold float64       `yaml:"fact_confidence_threshold" min:"0" max:"1"`
	MaxInjectedFacts        int           `yaml:"max_injected_facts" min:"0"`
	MaxInjectionTokens      int           `yaml:"max_injection_tokens" min:"100" max:"8000"`
	GuaranteedCategories    []string      `yaml:"guaranteed_categories"`
	GuaranteedTokenBudget   int           `yaml:"guaranteed_token_budget" min:"0"`

	StalenessReviewEnabled         bool     `yaml:"staleness_review_enabled"`
	StalenessAgeDays               int      `yaml:"staleness_age_days" min:"1"`
	StalenessMinCandidates         int      `yaml:"staleness_min_candidates" min:"1"`
	StalenessMaxRemovalsPerCycle   int      `yaml:"staleness_max_removals_per_cycle" min:"1"`
	StalenessProtectedCategories   []string `yaml:"staleness_protected_categories"`
	StalenessMaxLifetimeMultiplier float64  `yaml:"staleness_max_lifetime_multiplier" min:"1" max:"100"`
	StalenessMaxExtensionDays      int      `yaml:"staleness_max_extension_days" min:"90" max:"36500"`
}

// MemoryModel is a model used for memory alone. All empty = use ModelName or the run's model.
type MemoryModel struct {
	Provider    string   `yaml:"provider"`
	Model       string   `yaml:"model"`
	APIKey      Secret   `yaml:"api_key"`
	BaseURL     string   `yaml:"base_url"`
	Temperature *float64 `yaml:"temperature" min:"0"`
	Extra       Extra    `yaml:",inline"`
}
