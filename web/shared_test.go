package web_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// sealing gives a server the key that seals what it shares with others.
func sealing(t *testing.T) func(*web.Options) { return sealingWith(t, oldKey) }

const (
	oldKey = "a-text-that-is-long-enough-for-a-key"
	newKey = "another-text-that-is-long-enough-for-it"
)

func sealingWith(t *testing.T, keys string) func(*web.Options) {
	return func(o *web.Options) {
		env := []byte("FAWN_SECRET_KEY=" + keys + "\n")
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(o.Config), ".env"), env, 0o600))
	}
}

// twoSkills come with the program.
func twoSkills(o *web.Options) {
	o.Skills = fstest.MapFS{"one/SKILL.md": {Data: []byte("---\nname: one\ndescription: The first.\n---\nDo it.\n")},
		"two/SKILL.md": {Data: []byte("---\nname: two\ndescription: The second.\n---\nDo it.\n")}}
}

// shows waits until a page or an answer has a text, or has it no more.
func (s *server) shows(t *testing.T, path, want string, there bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		got := s.send(t, "GET", path, "")
		if got.status == 200 && strings.Contains(got.body, want) == there {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %q: not %v: %d %.2000s", path, want, there, got.status, got.body)
		}
	}
}

// TestServersHaveTheSameSettings: what is changed at one counts at the others, and its secrets show nowhere.
func TestServersHaveTheSameSettings(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a, b := start(t, conf, sealing(t), twoSkills), start(t, conf, sealing(t), twoSkills)
	json := []string{"Content-Type", "application/json"}
	added := a.send(t, "POST", "/api/settings/models", `{"name": "new", "use": "openai", "model": "m",
		"base_url": "http://127.0.0.1:1/v1", "api_key": "sk-very-secret"}`, json...)
	if added.status != 201 && added.status != 200 {
		t.Fatalf("%d %s", added.status, added.body)
	}
	b.shows(t, "/api/settings/models", `"new"`, true)
	b.shows(t, "/workspace/settings/models", "sk-very-secret", false)
	b.send(t, "PATCH", "/api/settings/models/new", `{"max_tokens": 4321}`, json...).want(t, "/api/settings/models/new", 200)
	a.shows(t, "/api/settings/models", "4321", true)
	b.send(t, "DELETE", "/api/settings/models/new", "").fine(t, "/api/settings/models/new")
	a.shows(t, "/api/settings/models", `"new"`, false)

	a.send(t, "PUT", "/api/skills/two", `{"enabled": false}`, json...).must(t, "off", 200)
	b.shows(t, "/api/skills/two", `"enabled":false`, true)

	servers := `{"mcp_servers": {"far": {"type": "http", "url": "http://127.0.0.1:1/mcp", "enabled": false,
		"headers": {"Authorization": "Bearer very-secret"}}}}`
	a.send(t, "PUT", "/api/mcp/config", servers, json...).must(t, "/api/mcp/config", 200)
	b.shows(t, "/api/mcp/config", `"far"`, true)
	b.shows(t, "/api/skills/two", `"enabled":false`, true) // which is in the same place
	for _, s := range []*server{a, b} {
		for _, path := range []string{"/api/mcp/config", "/api/settings/models", "/metrics"} {
			s.send(t, "GET", path, "").holds(t, fmt.Sprintf("%s shows a secret", path), "!very-secret")
		}
		webtest.Holds(t, "the log has a secret", s.log.String(), "!very-secret")
	}
}

// TestAServerWithAnotherKeyIsRefused, as it could not use what the others share.
func TestAServerWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	start(t, conf, sealing(t))
	for env, want := range map[string]string{"FAWN_SECRET_KEY=the-text-of-another-key-of-good-length\n": "encrypted with another",
		"": "FAWN_SECRET_KEY is not set", "FAWN_SECRET_KEY=short\n": "at least 32"} {
		s := &server{conf: filepath.Join(t.TempDir(), "config.yaml")}
		s.configure(t, conf)
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(s.conf), ".env"), []byte(env), 0o600))
		app, err := web.Open(t.Context(), web.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Config: s.conf})
		if err == nil {
			app.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", env, err)
		}
	}
}

// TestASessionIsGoodAtEveryServer, for reading and, with its proof, for writing.
func TestASessionIsGoodAtEveryServer(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200) + "auth: {required: always}\n"
	a, b := start(t, conf), start(t, conf)
	newer := b.setupToken(t)
	if got := b.send(t, "GET", "/setup?token="+a.setupToken(t), ""); got.status >= 400 {
		t.Errorf("the link that one server said is %d at the other", got.status)
	}
	ann := a.owner(t) // though another server has said a newer link since
	for _, s := range []*server{a, b} {
		got := (&browser{s, map[string]string{}}).do(t, "POST", "/api/v1/auth/initialize",
			`{"email":"eve@x.org","password":"`+correct+`","token":"`+newer+`"}`)
		if got.status < 400 || got.status >= 500 {
			t.Errorf("a second owner: %d %s", got.status, got.body)
		}
	}
	elsewhere := &browser{b, ann.cookies}
	elsewhere.do(t, "GET", "/api/v1/auth/me", "").want(t, "at the other server", 200, "ann@x.org")
	elsewhere.do(t, "POST", "/threads", `{"thread_id": "t1"}`).want(t, "a thread at the other server", 200)
	ann.do(t, "GET", "/threads/t1", "").want(t, "which is here", 200)
	elsewhere.do(t, "POST", "/api/v1/auth/logout", "").fine(t, "signed out at the other server")
	ann.do(t, "GET", "/api/v1/auth/me", "").want(t, "after that, here", 401)
}

// TestAgentsAndSkillsOfOneServerAreThoseOfAll within a moment.
func TestAgentsAndSkillsOfOneServerAreThoseOfAll(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200) + "agents_api: {enabled: true}\n"
	a, b := start(t, conf), start(t, conf)
	json := []string{"Content-Type", "application/json"}
	a.skill(t, "poems", "Writes poems.")
	b.shows(t, "/api/skills", `"poems"`, true)
	text := `{"content": "---\nname: poems\ndescription: Writes odes.\n---\nDo.\n"}`
	b.send(t, "PUT", "/api/skills/custom/poems", text, json...).want(t, "changed at the other", 200)
	a.shows(t, "/api/skills/poems", "Writes odes.", true)
	a.shows(t, "/api/skills/custom/poems/history", "Writes odes.", true)
	a.send(t, "DELETE", "/api/skills/custom/poems", "").fine(t, "deleted")
	b.shows(t, "/api/skills", `"poems"`, false)

	made := a.send(t, "POST", "/api/agents", `{"name": "poet", "description": "Rhymes.", "soul": "Rhyme."}`, json...)
	made.fine(t, "made")
	b.shows(t, "/api/agents", `"poet"`, true)
	b.send(t, "PUT", "/api/agents/poet", `{"soul": "You rhyme well."}`, json...).want(t, "changed at the other", 200)
	a.shows(t, "/api/agents/poet", "rhyme well", true)
	b.send(t, "DELETE", "/api/agents/poet", "").fine(t, "deleted")
	a.shows(t, "/api/agents", `"poet"`, false)
}

// skill installs one of a single text.
func (s *server) skill(t *testing.T, name, about string) {
	t.Helper()
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	file, err := m.CreateFormFile("file", name+".skill")
	must.Do(t, err)
	z := zip.NewWriter(file)
	w, err := z.Create(name + "/SKILL.md")
	if err == nil {
		_, err = fmt.Fprintf(w, "---\nname: %s\ndescription: %s\n---\nDo it.\n", name, about)
	}
	must.Do(t, errors.Join(err, z.Close(), m.Close()))
	got := s.sendBody(t, "POST", "/ui/skills/install", &form, "Content-Type", m.FormDataContentType())
	if got.status >= 400 {
		t.Fatalf("%d %s", got.status, got.body)
	}
}

// TestPagesSayWhereSharedSettingsAreStored: not in a file of one server, and keys only where they can be sealed.
func TestPagesSayWhereSharedSettingsAreStored(t *testing.T) {
	t.Parallel()
	a := start(t, clustered(t, 200), func(o *web.Options) { o.Data = t.TempDir() })
	const models = "/workspace/settings/models"
	a.shows(t, models, "saved in the database and apply to all servers", true)
	a.shows(t, models, "settings.yaml", false)
	a.shows(t, "/workspace/settings/about", "settings.yaml", false)
	a.shows(t, models+"?add=openai", "Set FAWN_SECRET_KEY", true)
	a.shows(t, models+"?add=openai", "Stored on this machine", false)
}

// TestADifferentConfigurationIsTold on the settings page and in the log, and not any more when it is the same.
func TestADifferentConfigurationIsTold(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a, b := start(t, conf), start(t, conf+"# otherwise\n")
	for _, s := range []*server{a, b} {
		s.shows(t, "/workspace/settings/about", "different config.yaml", true)
	}
	b.configure(t, conf)
	for _, s := range []*server{a, b} {
		s.shows(t, "/workspace/settings/about", "different config.yaml", false)
		webtest.Holds(t, "the log says nothing of it", s.log.String(), "config.yaml differs")
	}
}

// TestTheKeyThatSealsCanBeChanged while servers work: once one has started with the new key first, that is enough.
func TestTheKeyThatSealsCanBeChanged(t *testing.T) {
	t.Parallel()
	conf := clustered(t, 200)
	a := start(t, conf, sealingWith(t, oldKey+","+newKey))
	added := a.send(t, "POST", "/api/settings/models", `{"name": "new", "use": "openai", "model": "m",
		"base_url": "http://127.0.0.1:1/v1", "api_key": "sk-very-secret"}`, "Content-Type", "application/json")
	added.fine(t, "added")
	start(t, conf, sealingWith(t, newKey+","+oldKey))
	b := start(t, conf, sealingWith(t, newKey))
	for _, s := range []*server{a, b} {
		s.shows(t, "/api/settings/models", `"new"`, true)
	}
}
