package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// apiOldest is the first version of the engine's API with all features used here, and apiNewest the last one this
	// code was written for.
	apiOldest, apiNewest = 41, 51

	// engineTime limits a request to the engine.
	engineTime = time.Minute
	// pullTime limits the download of an image.
	pullTime = 30 * time.Minute
	// removeTime limits the retries of removing a container.
	removeTime = 10 * time.Second
	// maxAnswer limits a response, in bytes.
	maxAnswer = 8 << 20
)

// engine talks to Docker, or to Podman in the same language, over its socket.
type engine struct {
	socket string
	client *http.Client
	prefix string // "/v1.41"
	about  engineInfo
}

// engineInfo is an engine's description of itself.
type engineInfo struct {
	OSType, Architecture, ServerVersion, CgroupVersion string
	MemoryLimit, PidsLimit                             bool
	SecurityOptions                                    []string
	Podman                                             bool `json:"-"`
}

// has reports whether a security option is in force.
func (i engineInfo) has(name string) bool {
	for _, o := range i.SecurityOptions {
		if first, _, _ := strings.Cut(o, ","); first == "name="+name {
			return true
		}
	}
	return false
}

func (i engineInfo) name() string {
	if i.Podman {
		return "podman"
	}
	return "docker"
}

// engineError is a refusal of the engine.
type engineError struct {
	Status int
	Text   string // may name paths of the host
}

func (e *engineError) Error() string { return fmt.Sprintf("engine: %d: %s", e.Status, e.Text) }

// engineStatus returns the status of a refusal, 0 for any other error.
func engineStatus(err error) int {
	var e *engineError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// engineSockets returns the places where engines listen, the owner's choice first.
func engineSockets(configured string) []string {
	if configured == "" {
		configured = os.Getenv("DOCKER_HOST")
	}
	if configured != "" {
		return []string{strings.TrimPrefix(configured, "unix://")}
	}
	places := []string{"/var/run/docker.sock", "/run/podman/podman.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		places = append(places, filepath.Join(dir, "docker.sock"), filepath.Join(dir, "podman", "podman.sock"))
	}
	return places
}

// Reasons for a missing engine.
var (
	errNoEngine     = errors.New("no container engine is listening")
	errRemoteEngine = errors.New("only a container engine on this machine can be used")
	errOldEngine    = errors.New("the engine is too old")
)

// openEngine finds an engine and the version that both sides speak.
func openEngine(ctx context.Context, configured string) (*engine, error) {
	tried := []error{errNoEngine}
	for _, socket := range engineSockets(configured) {
		if !filepath.IsAbs(socket) {
			return nil, fmt.Errorf("%w: %s", errRemoteEngine, socket)
		}
		if info, err := os.Stat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
			continue
		}
		e := &engine{socket: socket, client: &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			},
			MaxIdleConns: 8, IdleConnTimeout: time.Minute, DisableCompression: true,
		}}}
		err := e.greet(ctx)
		if err == nil {
			return e, nil
		}
		e.close()
		tried = append(tried, err)
	}
	return nil, errors.Join(tried...)
}

// close closes idle connections.
func (e *engine) close() { e.client.CloseIdleConnections() }

// greet negotiates the API version and reads the engine's capabilities.
func (e *engine) greet(ctx context.Context) error {
	var v struct {
		ApiVersion, MinAPIVersion string
		Components                []struct{ Name string }
	}
	if err := e.call(ctx, http.MethodGet, "/version", nil, &v); err != nil {
		return err
	}
	newest, err := minor(v.ApiVersion)
	if err != nil {
		return err
	}
	if newest < apiOldest {
		return fmt.Errorf("%w: it speaks version %s, 1.%d is needed", errOldEngine, v.ApiVersion, apiOldest)
	}
	use := min(newest, apiNewest)
	if oldest, err := minor(v.MinAPIVersion); err == nil {
		use = max(use, oldest)
	}
	e.prefix = "/v1." + strconv.Itoa(use)
	if err := e.call(ctx, http.MethodGet, "/info", nil, &e.about); err != nil {
		return err
	}
	for _, c := range v.Components {
		e.about.Podman = e.about.Podman || strings.Contains(c.Name, "Podman")
	}
	return nil
}

// minor returns the second part of a version such as 1.41.
func minor(version string) (int, error) {
	rest, ok := strings.CutPrefix(version, "1.")
	n, err := strconv.Atoi(rest)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("version %.20q of the engine: %w", version, errors.ErrUnsupported)
	}
	return n, nil
}

// call makes one request and decodes the response into out, unless that is nil. Refusals are an *engineError.
func (e *engine) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, engineTime)
	defer cancel()
	resp, err := e.send(ctx, method, path, in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("engine: %s: %w", path, err)
	}
	return nil
}

func (e *engine) send(ctx context.Context, method, path string, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("engine: %s: %w", path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+e.prefix+path, body)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		var said struct{ Message string }
		text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
		if err != nil {
			return nil, fmt.Errorf("engine: %s: %w", path, err)
		}
		if json.Unmarshal(text, &said) == nil && said.Message != "" {
			text = []byte(said.Message)
		}
		return nil, &engineError{resp.StatusCode, strings.TrimSpace(string(text))}
	}
	return resp, nil
}

// hijack makes a request and returns its connection to a process in a container, in both directions. The caller closes
// it.
func (e *engine) hijack(ctx context.Context, path string, in any) (io.ReadWriteCloser, error) {
	// The connection outlives ctx, which is for the request only.
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late := time.AfterFunc(engineTime, cancel)
	stop := context.AfterFunc(ctx, cancel)
	resp, err := e.send(life, http.MethodPost, path, in, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"tcp"}})
	late.Stop()
	stop()
	if err != nil {
		cancel()
		return nil, err
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		cancel()
		return nil, errors.Join(fmt.Errorf("engine: %s: no connection: %w", path, errFrame), resp.Body.Close())
	}
	return &hijacked{conn, cancel}, nil
}

// hijacked releases the request's resources when it is closed.
type hijacked struct {
	io.ReadWriteCloser
	cancel context.CancelFunc
}

func (h *hijacked) Close() error {
	defer h.cancel()
	return h.ReadWriteCloser.Close()
}

// hasImage reports whether an image exists.
func (e *engine) hasImage(ctx context.Context, image string) (bool, error) {
	err := e.call(ctx, http.MethodGet, "/images/"+image+"/json", nil, nil)
	if engineStatus(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// pull fetches an image, which can take minutes.
func (e *engine) pull(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	if !strings.Contains(image, "@") && !strings.Contains(image[strings.LastIndexByte(image, '/')+1:], ":") {
		image += ":latest" // otherwise the engine fetches all tags
	}
	resp, err := e.send(ctx, http.MethodPost, "/images/create?fromImage="+url.QueryEscape(image), nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for dec := json.NewDecoder(resp.Body); ; {
		var step struct{ Error string }
		switch err := dec.Decode(&step); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("engine: fetch image: %w", err)
		case step.Error != "":
			return &engineError{http.StatusInternalServerError, step.Error}
		}
	}
}

// remove kills and removes a container. A missing one isn't an error; one being removed is requested again, since engines
// may stop halfway.
func (e *engine) remove(ctx context.Context, id string) error {
	for end := time.Now().Add(removeTime); ; {
		err := e.call(ctx, http.MethodDelete, "/containers/"+id+"?force=1&v=1", nil, nil)
		if err == nil || engineStatus(err) == http.StatusNotFound {
			return nil
		}
		if s := engineStatus(err); s < http.StatusConflict || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
