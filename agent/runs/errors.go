package runs

import (
	"errors"

	"fawn/agent/runs/eventlog"
	"fawn/agent/runs/recorder"
	"fawn/agent/runs/request"
)

// Sentinels of [Manager]; handlers map them to statuses.
var (
	ErrBusy          = errors.New("the thread already has an active run")
	ErrExists        = errors.New("a run with this id exists")
	ErrNotFound      = errors.New("not found")
	ErrNoProject     = errors.New("there is no such project")
	ErrBarred        = errors.New("the account is disabled; an administrator can enable it")
	ErrInput         = request.ErrInput
	ErrNotCancelable = errors.New("run is not cancellable")
	ErrStorage       = recorder.ErrStorage
	ErrClosed        = eventlog.ErrClosed
)
