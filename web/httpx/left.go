package httpx

import (
	"errors"
	"net"
	"net/http"
)

// Left reports whether a response wasn't written because the client is gone. The connection may report it before the
// request's context does.
func Left(r *http.Request, err error) bool {
	if r.Context().Err() != nil {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	var op *net.OpError
	return ok && errors.As(err, &op) && op.Op == "write" && op.Source != nil && op.Source.String() == local.String()
}
