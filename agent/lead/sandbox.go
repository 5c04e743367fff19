package lead

import (
	"log/slog"

	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/sandbox"
	"fawn/sandbox/files"
)

// SandboxConfig is what a sandbox provider is opened with, as the configuration says.
// Proxy, Audit and Secrets are left to the caller.
func SandboxConfig(s config.Sandbox, dirs files.Dirs, log *slog.Logger) sandbox.Config {
	c := sandbox.DefaultConfig()
	c.Provider, c.Dirs, c.Log = s.Provider, dirs, log
	c.Strict, c.RequireLayers = s.Strict, s.RequireLayers
	c.AllowHostBash, c.AllowEngine = s.AllowHostBash, s.AllowEngine
	c.MaxSandboxes, c.IdleTimeout, c.UIDBase = s.MaxSandboxes, s.IdleTimeout, s.UIDBase
	c.BackgroundTimeout = s.BackgroundTimeout
	c.Engine = sandbox.Engine{Socket: s.Docker.Socket, Image: s.Docker.Image, HostDataDir: s.Docker.HostDataDir,
		Pull: s.Docker.Pull}
	return c
}

// maxStreamed is how many bytes of one command's output are shown while it runs; all of
// them are stored as events.
const maxStreamed = 256 << 10

// SandboxPolicy is what the commands of a thread may do, as the configuration says.
func SandboxPolicy(s config.Sandbox) sandbox.Policy {
	p := sandbox.DefaultPolicy()
	p.Lifetime, p.Timeout, p.OutputChars, p.StreamBytes = s.Lifetime, s.BashCommandTimeout, s.BashOutputMaxChars,
		maxStreamed
	l := s.Limits
	p.Limits.Memory, p.Limits.Pids, p.Limits.FileSize, p.Limits.OpenFiles = l.Memory, l.Pids, l.FileSize, l.OpenFiles
	p.Limits.Tmp, p.Limits.Shm, p.Limits.Disk, p.Limits.CPU = l.Tmp, l.Shm, l.Disk, l.CPU
	p.Network, p.SeccompAllow, p.UploadsReadOnly = s.Network.Mode, s.Seccomp.Allow, s.UploadsReadonly
	p.Env = s.Environment.Plain()
	for _, m := range s.Mounts {
		p.Binds = append(p.Binds, sandbox.Bind{Dir: m.HostPath, Path: m.ContainerPath, ReadOnly: m.ReadOnly})
	}
	return p
}

// resultFolder returns where long results are kept, below the thread's outputs.
func (b *Builder) resultFolder() string {
	return middleware.ResultFolder(b.config().File.ToolOutput.Folder)
}

func (b *Builder) policy() sandbox.Policy { return SandboxPolicy(b.config().File.Sandbox) }

// logAudit returns where audit rows go when nothing else wants them.
func logAudit(log *slog.Logger) func(middleware.AuditRecord) {
	return func(r middleware.AuditRecord) {
		log.Info("audit", "thread", r.Thread, "run", r.Run, "call", r.Call, "tool", r.Tool, "verdict", r.Verdict,
			"reason", r.Reason,
			"sha256", r.SHA256, "command", r.Command, "path", r.Path)
	}
}
