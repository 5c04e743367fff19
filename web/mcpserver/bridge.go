package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"fawn/agent/llm/sse"

	"fawn/web/inproc"
)

// maxOpen limits a bridge's open requests.
const maxOpen = 64

// Bridge is the server on standard input and output: it carries messages, one a line, to the
// server of an address and its answers back.
type Bridge struct {
	// Find returns the address of a server, starting one if necessary. It is called again when that is gone.
	Find func(context.Context) (string, error)
	In   io.Reader
	Out  io.Writer
	// Token authenticates the bridge on servers with accounts.
	Token string

	client  *http.Client
	work    sync.WaitGroup
	writing sync.Mutex
	mu      sync.Mutex
	url     string
	version string                        // version of the protocol, once client and server agreed on one
	open    map[string]context.CancelFunc // by the ids of requests
}

// rpc is the part of a message that a bridge reads.
type rpc struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params struct {
		Name    string          `json:"name"`
		URI     string          `json:"uri"`
		Request json.RawMessage `json:"requestId"`
		Meta    struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
	Result struct {
		Version string `json:"protocolVersion"`
	} `json:"result"`
}

// Run forwards messages until the client closes its end or ctx ends. Open requests are then abandoned; the tasks they
// started continue.
func (b *Bridge) Run(ctx context.Context) error {
	b.client = &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 4}}
	b.open = map[string]context.CancelFunc{}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		b.work.Wait()
		b.client.CloseIdleConnections()
	}()
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() { failed <- b.read(ctx, lines) }() // it ends only with the input
	for {
		select {
		case line := <-lines:
			b.take(ctx, line)
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// read cuts the input into lines.
func (b *Bridge) read(ctx context.Context, lines chan<- []byte) error {
	r := bufio.NewReaderSize(b.In, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxBody:
			return fmt.Errorf("a message of the client is longer than %d MiB", maxBody>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case lines <- line:
			case <-ctx.Done():
				return nil
			}
		}
		line = nil
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// take forwards one message; later messages needn't wait for its response.
func (b *Bridge) take(ctx context.Context, line []byte) {
	var m rpc
	if err := json.Unmarshal(line, &m); err != nil {
		b.refuse(json.RawMessage("null"), -32700, "this is not a message of JSON-RPC")
		return
	}
	if m.Method == "notifications/cancelled" { // each message is a separate request to the server
		b.mu.Lock()
		cancel := b.open[string(m.Params.Request)]
		b.mu.Unlock()
		if cancel != nil {
			cancel()
		}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	if m.ID != nil {
		b.mu.Lock()
		full := len(b.open) >= maxOpen
		if !full {
			b.open[string(m.ID)] = cancel
		}
		b.mu.Unlock()
		if full {
			cancel()
			b.refuse(m.ID, -32000, fmt.Sprintf("%d requests are open, which is the most", maxOpen))
			return
		}
	}
	done := func() {
		b.mu.Lock()
		delete(b.open, string(m.ID))
		b.mu.Unlock()
		cancel()
	}
	if m.Method == "initialize" || m.ID == nil { // later messages depend on it
		defer done()
		b.carry(ctx, m, line)
		return
	}
	b.work.Go(func() {
		defer done()
		b.carry(ctx, m, line)
	})
}

// carry sends a message and writes the response. A request is always answered, unless it was canceled.
func (b *Bridge) carry(ctx context.Context, m rpc, line []byte) {
	answered, err := b.exchange(ctx, m, line)
	if ctx.Err() != nil || m.ID == nil || answered {
		return
	}
	if err == nil {
		err = errors.New("the server ended its answer early")
	}
	b.refuse(m.ID, -32000, "Fawn: "+err.Error())
}

// post sends a message to the server; once more if that is gone.
func (b *Bridge) post(ctx context.Context, m rpc, line []byte) (*http.Response, error) {
	for last := false; ; last = true {
		at, err := b.address(ctx)
		if err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/mcp", bytes.NewReader(line))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if b.Token != "" {
			r.Header.Set("Authorization", "Bearer "+b.Token)
		}
		b.versions(r.Header, m)
		res, err := b.client.Do(r)
		var dial *net.OpError
		if err != nil && !last && ctx.Err() == nil && errors.As(err, &dial) && dial.Op == "dial" {
			b.forget(at)
			continue
		}
		return res, err
	}
}

// versions sets the headers that describe a message to a server without parsing it.
func (b *Bridge) versions(h http.Header, m rpc) {
	b.mu.Lock()
	version := b.version
	b.mu.Unlock()
	if m.Params.Meta.Version != "" {
		version = m.Params.Meta.Version
	}
	if version == "" || m.Method == "initialize" {
		return
	}
	h.Set("Mcp-Protocol-Version", version)
	if version < "2026-07-28" {
		return
	}
	h.Set("Mcp-Method", m.Method)
	switch m.Method {
	case "tools/call", "prompts/get":
		h.Set("Mcp-Name", headerText(m.Params.Name))
	case "resources/read":
		h.Set("Mcp-Name", headerText(m.Params.URI))
	}
}

// headerText returns a name as a header takes it.
func headerText(s string) string {
	plain := strings.TrimSpace(s) == s && !strings.HasPrefix(s, "=?base64?")
	for i := range len(s) {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// address returns where the server is.
func (b *Bridge) address(ctx context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.url == "" {
		at, err := b.Find(ctx)
		if err != nil {
			return "", err
		}
		b.url = at
	}
	return b.url, nil
}

// forget makes the next request search for the server, unless that happened already.
func (b *Bridge) forget(at string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.url == at {
		b.url = ""
	}
}

// exchange writes the responses to a message and reports whether the last one has arrived.
func (b *Bridge) exchange(ctx context.Context, m rpc, line []byte) (answered bool, err error) {
	res, err := b.post(ctx, m, line)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/event-stream") {
		return b.stream(m, res.Body)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, sse.MaxEvent))
	if err != nil {
		return false, err
	}
	var answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
	}
	if m.ID != nil && json.Unmarshal(body, &answer) == nil && answer.Version == "2.0" &&
		bytes.Equal(answer.ID, m.ID) {
		return true, b.write(m, body)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return false, errors.New(inproc.Detail(body, res.StatusCode))
	}
	return false, nil
}

func (b *Bridge) stream(m rpc, body io.Reader) (answered bool, err error) {
	events := sse.New(body, func() {})
	for {
		ev, err := events.Read()
		if errors.Is(err, io.EOF) {
			return answered, nil
		}
		if err != nil {
			return answered, err
		}
		var head rpc
		if json.Unmarshal(ev.Data, &head) != nil {
			continue
		}
		answered = answered || head.Method == "" && bytes.Equal(head.ID, m.ID)
		if err := b.write(m, ev.Data); err != nil {
			return answered, err
		}
	}
}

// write sends one message to the client.
func (b *Bridge) write(m rpc, body []byte) error {
	if m.Method == "initialize" {
		var answer rpc
		if json.Unmarshal(body, &answer) == nil && answer.Result.Version != "" {
			b.mu.Lock()
			b.version = answer.Result.Version
			b.mu.Unlock()
		}
	}
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil {
		return err
	}
	line.WriteByte('\n')
	b.writing.Lock()
	defer b.writing.Unlock()
	_, err := b.Out.Write(line.Bytes())
	return err
}

// refuse answers a request with an error.
func (b *Bridge) refuse(id json.RawMessage, code int, text string) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": text}})
	if err == nil {
		_ = b.write(rpc{}, body) // a client that is gone hears of nothing
	}
}
