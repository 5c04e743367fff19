package channels_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"fawn/agent/channels/chat"
)

// platform is a chat app over HTTP, so that a bot in another process can be killed while it talks to it. Like most, it
// sends a message as often as it is told to, and delivers what was not confirmed again.
type platform struct {
	url string

	mu       sync.Mutex
	updates  []chat.Update
	messages []*shown
	byID     map[string]*shown
	files    []string
	wake     chan struct{}
	polled   int                    // greatest offset asked for
	fault    func(op string) string // "rate", "gone", "message", "error", "drop" (act, then cut the connection)
	calls    map[string]int
	page     int                     // most updates of a poll
	conns    int                     // connections that are open
	saw      func(chat, text string) // is told what people see; mu is held
}

// shown is a message as people see it.
type shown struct {
	ID, Chat, Topic, ReplyTo string
	Texts                    []string // all that it ever showed
	Deleted                  bool
}

func (s *shown) text() string { return s.Texts[len(s.Texts)-1] }

func newPlatform(t testing.TB) *platform {
	p := &platform{wake: make(chan struct{}), calls: map[string]int{}, byID: map[string]*shown{}, page: 3}
	server := httptest.NewUnstartedServer(p)
	server.Config.ConnState = p.count
	server.Start()
	p.url = server.URL
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return p
}

func (p *platform) count(_ net.Conn, s http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case http.StateNew:
		p.conns++
	case http.StateClosed:
		p.conns--
	}
}

func (p *platform) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns
}

// kill ends a server that came to so many connections, and waits until what it said is heard: it must not come behind
// what the next one says.
func (p *platform) kill(t *testing.T, server *exec.Cmd, conns int) {
	t.Helper()
	_ = server.Process.Kill()
	_ = server.Wait()
	until(t, func() string {
		if n := p.open(); n > conns {
			return fmt.Sprint(n-conns, " connections of a killed server are open")
		}
		return ""
	})
}

// misbehave makes calls fail from now on. Whoever had the port of the platform last may be calling already.
func (p *platform) misbehave(fault func(op string) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// write is somebody's message.
func (p *platform) write(u chat.Update) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.ID == "" {
		u.ID = fmt.Sprint("u", len(p.updates)+1)
	}
	if u.Message == "" {
		u.Message = "m" + u.ID
	}
	p.updates = append(p.updates, u)
	close(p.wake)
	p.wake = make(chan struct{})
}

// say is a message in a private chat of a person named like it.
func (p *platform) say(who, text string) {
	p.write(chat.Update{Address: chat.Address{Chat: who}, Sender: chat.Person{ID: who, Name: who}, Text: text})
}

// chat is what a chat shows, without placeholders that got no text.
func (p *platform) chat(id string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.messages {
		if m.Chat == id && !m.Deleted && m.text() != "…" {
			out = append(out, m.text())
		}
	}
	return out
}

// orphans counts placeholders that got no text.
func (p *platform) orphans(id string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.messages {
		if m.Chat == id && m.text() == "…" {
			n++
		}
	}
	return n
}

func (p *platform) await(t *testing.T, id string, want ...string) {
	t.Helper()
	until(t, func() string {
		if got := p.chat(id); !slices.Equal(got, want) {
			return fmt.Sprintf("chat %s shows %q, want %q", id, got, want)
		}
		return ""
	})
}

// until waits for a condition that says what it misses.
func until(t testing.TB, missing func() string) {
	t.Helper()
	soon(t, time.Now().Add(time.Minute), missing)
}

// soon is until with a time of its own.
func soon(t testing.TB, end time.Time, missing func() string) {
	t.Helper()
	for ; ; time.Sleep(2 * time.Millisecond) {
		what := missing()
		if what == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// order is a call of a bot.
type order struct {
	To      chat.Address
	Message string
	Text    string
	ReplyTo string
	Plain   bool
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/poll" {
		p.poll(w, r)
		return
	}
	var o order
	if r.URL.Path == "/upload" {
		o.To.Chat, o.Text = r.URL.Query().Get("chat"), r.URL.Query().Get("name")
		body, _ := io.ReadAll(r.Body)
		o.Text += "=" + string(body)
	} else if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	op := strings.TrimPrefix(r.URL.Path, "/")
	p.calls[op]++
	fault := ""
	if p.fault != nil {
		fault = p.fault(op)
	}
	if fault != "" && fault != "drop" {
		http.Error(w, fault, http.StatusTeapot)
		return
	}
	id, problem := p.act(op, o)
	if problem != "" {
		http.Error(w, problem, http.StatusTeapot)
		return
	}
	if fault == "drop" {
		panic(http.ErrAbortHandler)
	}
	io.WriteString(w, id)
}

func (p *platform) act(op string, o order) (id, problem string) {
	switch op {
	case "send":
		m := &shown{ID: fmt.Sprint("b", len(p.messages)+1), Chat: o.To.Chat, Topic: o.To.Topic, ReplyTo: o.ReplyTo,
			Texts: []string{o.Text}}
		p.messages = append(p.messages, m)
		p.byID[m.ID] = m
		p.see(m)
		return m.ID, ""
	case "edit":
		m := p.byID[o.Message]
		if m == nil || m.Deleted {
			return "", "message"
		}
		if m.text() != o.Text {
			m.Texts = append(m.Texts, o.Text)
			p.see(m)
		}
	case "upload":
		p.files = append(p.files, o.Text)
		return fmt.Sprint("f", len(p.files)), ""
	}
	return "", ""
}

func (p *platform) see(m *shown) {
	if p.saw != nil {
		p.saw(m.Chat, m.text())
	}
}

// poll waits for updates from an offset on; asking for one confirms those before it.
func (p *platform) poll(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	for {
		p.mu.Lock()
		p.polled = max(p.polled, from)
		list, wake := p.updates[min(from, len(p.updates)):], p.wake
		p.mu.Unlock()
		if len(list) > 0 {
			json.NewEncoder(w).Encode(list[:min(len(list), p.page)])
			return
		}
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

// bot is a bot on a platform.
type bot struct {
	url    string
	client *http.Client
	limits chat.Limits
	poison bool // Check fails for good
}

func newBot(url string) *bot {
	return &bot{url: url, client: &http.Client{Transport: &http.Transport{}}, limits: chat.Limits{Max: 200,
		Count: utf8.RuneCountInString, EditEvery: time.Millisecond, GroupEditEvery: time.Millisecond, CanEdit: true,
		MaxFile: 1000, MaxImage: 1000}}
}

func (b *bot) Limits() chat.Limits { return b.limits }

func (b *bot) Check(context.Context) (chat.Me, error) {
	if b.poison {
		return chat.Me{}, &chat.Fatal{Reason: "the token is wrong", Remedy: "Make a new one."}
	}
	return chat.Me{ID: "1", Name: "Fawn", Handle: "fawnbot"}, nil
}

func (b *bot) Run(ctx context.Context, in chat.Inbox) error {
	defer b.client.CloseIdleConnections()
	offset, _ := strconv.Atoi(in.Cursor("offset"))
	for ctx.Err() == nil {
		var list []chat.Update
		err := b.get(ctx, offset, &list)
		if ctx.Err() != nil {
			break
		}
		if in.Status(err); err != nil {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err := in.Take(ctx, list, map[string]string{"offset": strconv.Itoa(offset + len(list))}); err != nil {
			in.Status(err)
			time.Sleep(5 * time.Millisecond)
			continue
		}
		offset += len(list)
	}
	return ctx.Err()
}

func (b *bot) get(ctx context.Context, offset int, list *[]chat.Update) error {
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprint(b.url, "/poll?offset=", offset), nil)
	if err != nil {
		return err
	}
	res, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(list)
}

func (b *bot) call(ctx context.Context, path string, body io.Reader) (string, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", b.url+path, body)
	if err != nil {
		return "", err
	}
	res, err := b.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode == http.StatusTeapot {
		switch strings.TrimSpace(string(answer)) {
		case "rate":
			return "", &chat.Rate{After: 20 * time.Millisecond}
		case "gone":
			return "", &chat.Gone{Reason: "the bot was blocked"}
		case "message":
			return "", &chat.Gone{Message: true, Reason: "the message is gone"}
		}
		return "", errors.New(string(answer))
	}
	return string(answer), nil
}

func (b *bot) order(ctx context.Context, path string, o order) (string, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	return b.call(ctx, path, bytes.NewReader(body))
}

func (b *bot) Send(ctx context.Context, to chat.Address, p chat.Post) (chat.Ref, error) {
	id, err := b.order(ctx, "/send", order{To: to, Text: p.Text, ReplyTo: p.ReplyTo})
	return chat.Ref{Address: to, Message: id}, err
}

func (b *bot) Edit(ctx context.Context, at chat.Ref, p chat.Post) error {
	_, err := b.order(ctx, "/edit", order{To: at.Address, Message: at.Message, Text: p.Text})
	return err
}

func (b *bot) Upload(ctx context.Context, to chat.Address, f chat.File, _ string) (chat.Ref, error) {
	r, err := f.Open()
	if err != nil {
		return chat.Ref{}, err
	}
	defer r.Close()
	id, err := b.call(ctx, "/upload?chat="+to.Chat+"&name="+f.Name, r)
	return chat.Ref{Address: to, Message: id}, err
}

func (b *bot) Typing(ctx context.Context, to chat.Address) error {
	_, err := b.order(ctx, "/typing", order{To: to})
	return err
}

func (b *bot) Fetch(_ context.Context, f chat.FileRef, w io.Writer) error {
	_, err := io.WriteString(w, "contents of "+f.ID)
	return err
}
