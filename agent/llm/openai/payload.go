package openai

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// errDropped means that a request would be sent again after its answer began.
var errDropped = errors.New("the request body has been dropped")

// payload is a request body that the connection may send repeatedly until it is dropped. A dropped or closed body
// releases its memory, even if still referenced.
type payload struct {
	mu   sync.Mutex
	data []byte // nil = dropped
}

func newPayload(data []byte) *payload { return &payload{data: data} }

// open returns a reader of the body from its start.
func (p *payload) open() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.data == nil {
		return nil, errDropped
	}
	return &payloadReader{rest: *bytes.NewReader(p.data)}, nil
}

// drop releases the body; open readers continue.
func (p *payload) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = nil
}

// payloadReader reads a body. The connection closes it, maybe while it is being read.
type payloadReader struct {
	mu   sync.Mutex
	rest bytes.Reader
}

// Read implements io.Reader.
func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rest.Read(b)
}

// Close implements io.Closer.
func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest.Reset(nil)
	return nil
}
