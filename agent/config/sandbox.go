package config

import "time"

// Sandbox configures where commands run and their limits. Lengths are characters, sizes bytes.
type Sandbox struct {
	Use               string        `yaml:"use" reload:"restart"`                                                              // DeerFlow's class path; Provider wins
	Provider          string        `yaml:"provider" enum:"auto|namespace|landlock|docker|seatbelt|host|off" reload:"restart"` // auto takes the strongest available one
	Strict            bool          `yaml:"strict" reload:"restart"`                                                           // refuse any weakened layer
	RequireLayers     []string      `yaml:"require_layers" reload:"restart"`                                                   // auto skips a provider without them
	AllowHostBash     bool          `yaml:"allow_host_bash" reload:"restart"`
	AllowEngine       bool          `yaml:"allow_engine" reload:"restart"` // auto may use Docker or Podman
	LazyInit          bool          `yaml:"lazy_init"`                     // start at the first command instead of at the start of a run
	Lifetime          string        `yaml:"lifetime" enum:"thread|call"`
	IdleTimeout       time.Duration `yaml:"idle_timeout" min:"0" reload:"restart"`
	BackgroundTimeout time.Duration `yaml:"background_timeout" min:"0" reload:"restart"` // the same for one with background processes
	MaxSandboxes      int           `yaml:"max_sandboxes" min:"1" reload:"restart"`

	BashCommandTimeout     time.Duration `yaml:"bash_command_timeout" min:"1"`
	BashOutputMaxChars     int           `yaml:"bash_output_max_chars" min:"0"`                              // 0 = no limit
	ReadFileOutputMaxChars int           `yaml:"read_file_output_max_chars" min:"0" reload:"restart"`        // 0 = no limit
	LsOutputMaxChars       int           `yaml:"ls_output_max_chars" min:"0" reload:"restart"`               // 0 = no limit
	WriteFileMaxBytes      int64         `yaml:"write_file_max_bytes" unit:"bytes" min:"0" reload:"restart"` // one write_file call; DEERFLOW_WRITE_FILE_MAX_BYTES sets it too; 0 = no limit

	Limits          SandboxLimits  `yaml:"limits"`
	Network         SandboxNetwork `yaml:"network"`
	Seccomp         SandboxSeccomp `yaml:"seccomp"`
	Mounts          []Mount        `yaml:"mounts"`
	UploadsReadonly bool           `yaml:"uploads_readonly"`
	UIDBase         int            `yaml:"uid_base" min:"1000" reload:"restart"` // first user id of threads; only when the server is root
	Environment     Headers        `yaml:"environment" alias:"env"`
	Docker          SandboxDocker  `yaml:"docker" reload:"restart"`
}

// SandboxLimits limits one sandbox.
type SandboxLimits struct {
	Memory    int64   `yaml:"memory" unit:"bytes" min:"0"`
	Pids      int     `yaml:"pids" min:"0"`
	FileSize  int64   `yaml:"file_size" unit:"bytes" min:"0"`
	OpenFiles int     `yaml:"open_files" min:"0"`
	Tmp       int64   `yaml:"tmp" unit:"bytes" min:"0"`
	Shm       int64   `yaml:"shm" unit:"bytes" min:"0"`
	Disk      int64   `yaml:"disk" unit:"bytes" min:"0"`
	CPU       float64 `yaml:"cpu" min:"0"` // cores; 0 = all
}

// SandboxNetwork configures the network access of a sandbox.
type SandboxNetwork struct {
	Mode         string   `yaml:"mode" enum:"proxy|none|host"`
	Packages     bool     `yaml:"packages"`      // the hosts of the owner's package managers
	Allow        []string `yaml:"allow"`         // host names or patterns
	Deny         []string `yaml:"deny"`          // takes precedence over Allow
	AllowPrivate []string `yaml:"allow_private"` // private addresses or networks that may be reached

	AskTimeout time.Duration `yaml:"ask_timeout" min:"0"` // how long a command waits for the answer about a host; 0 = not at all
}

// SandboxSeccomp loosens the filter of system calls.
type SandboxSeccomp struct {
	Allow []string `yaml:"allow"` // names of system calls
}

// Mount shows a folder of the host inside the sandbox.
type Mount struct {
	HostPath      string `yaml:"host_path" required:"true"`
	ContainerPath string `yaml:"container_path" alias:"path" required:"true"`
	ReadOnly      bool   `yaml:"read_only"`
}

// SandboxDocker configures the docker provider.
type SandboxDocker struct {
	Socket      string `yaml:"socket"`        // empty = the engine's usual place
	Image       string `yaml:"image"`         // empty = built in choice
	HostDataDir string `yaml:"host_data_dir"` // the data folder as the engine sees it
	Pull        bool   `yaml:"pull"`          // fetch a missing image
}
