package lead

import (
	"log/slog"

	"fawn/agent/config"
	"fawn/agent/middleware"
	"fawn/sandbox"
	"fawn/sandbox/files"
)

// SandboxConfig returns the configured options of a sandbox provider. The caller adds Proxy, Audit and Secrets.
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

// maxStreamed limits the shown output of one running command; everything shown is stored as events.
const maxStreamed = 256 << 10

// SandboxPolicy returns the configured policy for a thread's commands.
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

// logAudit returns the default destination of audit rows.
func logAudit(log *slog.Logger) func(middleware.AuditRecord) {
	return func(r middleware.AuditRecord) {
		log.Info("audit", "thread", r.Thread, "run", r.Run, "call", r.Call, "tool", r.Tool, "verdict", r.Verdict,
			"reason", r.Reason,
			"sha256", r.SHA256, "command", r.Command, "path", r.Path)
	}
}
