package httpx

import (
	"errors"
	"net"
	"net/http"
)

// Left reports whether an answer wasn't written because whoever asked is gone. The connection may say so before the
// request's context does.
func Left(r *http.Request, err error) bool {
	if r.Context().Err() != nil {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	var op *net.OpError
	return ok && errors.As(err, &op) && op.Op == "write" && op.Source != nil && op.Source.String() == local.String()
}
