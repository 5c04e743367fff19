package ui

import (
	"fawn/views"
)

// runsCommands reports whether models can run any here.
func (u *UI) runsCommands() bool { return u.Restart != nil && u.Box().State != views.SandboxOff }
