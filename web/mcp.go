package web

import (
	"context"
	"errors"
	"path/filepath"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/mcp"
	"fawn/sandbox"
)

// openMCP starts the MCP servers of the configuration, in the background.
func (a *App) openMCP(snap *config.Snapshot) {
	a.mcp = mcp.New(mcp.Options{
		Dir: filepath.Join(a.dirs.Root, "mcp"), Log: a.opts.Log, Guard: a.egressGuard(snap),
		Folder: func(thread string) (string, error) {
			if err := a.dirs.Create(thread); err != nil {
				return "", err
			}
			return filepath.Abs(filepath.Join(a.dirs.Root, "threads", thread, "user-data"))
		},
		Save: a.saveOutput,
	})
	a.mcp.Set(lead.MCPServers(snap))
}

// saveOutput writes a file into the outputs of a thread.
func (a *App) saveOutput(ctx context.Context, thread, name string, data []byte) (_ string, err error) {
	files, err := a.dirs.Open(thread)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	at := sandbox.Outputs + "/" + name
	return at, files.WriteFile(ctx, at, data, false)
}
