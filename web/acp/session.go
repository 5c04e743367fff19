package acp

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/uuid"

	"fawn/web/client"
)

// Modes of a session: permissions in the editor's folder without asking.
const (
	modeAsk  sdk.SessionModeId = "ask"
	modeEdit sdk.SessionModeId = "accept_edits"
	modeRead sdk.SessionModeId = "read_only"
)

// Settings of a session.
const (
	optionModel  sdk.SessionConfigId = "model"
	optionEffort sdk.SessionConfigId = "effort"
	optionAgent  sdk.SessionConfigId = "agent"

	usual sdk.SessionConfigValueId = "default" // the server's choice
)

// Metadata of threads that are sessions of editors.
const (
	keyClient = "client"
	keyFolder = "acp_cwd"
	isEditor  = "acp"
)

// listed is the page size of the session list.
const listed = 50

// session is a conversation of the editor, which is a thread.
type session struct {
	id      sdk.SessionId
	folder  string   // absolute path of the editor's folder
	roots   []string // folder and further ones
	offered []sdk.SessionConfigOption

	writes sync.Mutex // serializes changes of the folder

	mu      sync.Mutex
	mode    sdk.SessionModeId
	chosen  map[sdk.SessionConfigId]sdk.SessionConfigValueId
	allowed map[string]bool // permissions given for the whole session
	cancel  context.CancelFunc
}

func (s *session) thread() string { return string(s.id) }

// path returns the address of something of the session's thread.
func (s *session) path(rest string) string { return "/threads/" + url.PathEscape(s.thread()) + rest }

// session returns an open session.
func (e *editor) session(id sdk.SessionId) (*session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &sdk.RequestError{Code: -32002, Message: fmt.Sprintf("there is no open session %q", id)}
}

// open registers a session.
func (e *editor) open(ctx context.Context, server client.Server, id sdk.SessionId, folder string,
	more []string) (*session, error) {
	s := &session{id: id, folder: filepath.Clean(folder), mode: modeAsk, allowed: map[string]bool{},
		chosen: map[sdk.SessionConfigId]sdk.SessionConfigValueId{}}
	for _, dir := range append([]string{folder}, more...) {
		if !filepath.IsAbs(dir) {
			return nil, &sdk.RequestError{Code: -32602, Message: fmt.Sprintf("%q is not an absolute path", dir)}
		}
		s.roots = append(s.roots, filepath.Clean(dir))
	}
	for id, value := range map[sdk.SessionConfigId]string{optionModel: e.Model, optionEffort: e.Effort, optionAgent: e.Agent} {
		if s.chosen[id] = usual; value != "" {
			s.chosen[id] = sdk.SessionConfigValueId(value)
		}
	}
	var err error
	if s.offered, err = offer(ctx, server, s.chosen); err != nil {
		return nil, failure(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[id] = s
	return s, nil
}

// offer requests the available choices from the server. Choices of the command line must be among them.
func offer(ctx context.Context, server client.Server, chosen map[sdk.SessionConfigId]sdk.SessionConfigValueId) (
	[]sdk.SessionConfigOption, error) {
	var models struct {
		Models []struct {
			Name  string `json:"name"`
			Title string `json:"display_name"`
		} `json:"models"`
	}
	if err := server.Call(ctx, http.MethodGet, "/api/models", nil, &models); err != nil {
		return nil, err
	}
	var agents struct {
		Agents []struct {
			Name  string `json:"name"`
			About string `json:"description"`
		} `json:"agents"`
	}
	if err := server.Call(ctx, http.MethodGet, "/api/agents", nil, &agents); err != nil {
		agents.Agents = nil // servers may not list them
	}
	one := func(value, name, about string) sdk.SessionConfigSelectOption {
		o := sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(value), Name: name}
		if about != "" {
			o.Description = &about
		}
		return o
	}
	list := []sdk.SessionConfigSelectOption{one(string(usual), "Default", "The model that the server chooses")}
	for _, m := range models.Models {
		name := m.Title
		if name == "" {
			name = m.Name
		}
		list = append(list, one(m.Name, name, ""))
	}
	out := []sdk.SessionConfigOption{choice(optionModel, "Model", sdk.SessionConfigOptionCategoryModel, list, chosen),
		choice(optionEffort, "Effort", sdk.SessionConfigOptionCategoryThoughtLevel, []sdk.SessionConfigSelectOption{
			one(string(usual), "Default", "As the server is set up"),
			one("flash", "Flash", "Answers at once"),
			one("thinking", "Thinking", "Thinks first"),
			one("pro", "Pro", "Thinks, and makes a plan"),
			one("ultra", "Ultra", "Thinks, makes a plan and sends subagents")}, chosen)}
	if len(agents.Agents) > 0 {
		list = []sdk.SessionConfigSelectOption{one(string(usual), "Fawn", "The built-in agent")}
		for _, a := range agents.Agents {
			list = append(list, one(a.Name, a.Name, a.About))
		}
		out = append(out, choice(optionAgent, "Agent", "", list, chosen))
	}
	return out, nil
}

func choice(id sdk.SessionConfigId, name string, category sdk.SessionConfigOptionCategory,
	list []sdk.SessionConfigSelectOption, chosen map[sdk.SessionConfigId]sdk.SessionConfigValueId) sdk.SessionConfigOption {
	values := sdk.SessionConfigSelectOptionsUngrouped(list)
	o := &sdk.SessionConfigOptionSelect{Id: id, Name: name, Type: "select", CurrentValue: chosen[id],
		Options: sdk.SessionConfigSelectOptions{Ungrouped: &values}}
	if category != "" {
		o.Category = &category
	}
	return sdk.SessionConfigOption{Select: o}
}

// settings returns the current settings of a session.
func (s *session) settings() []sdk.SessionConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]sdk.SessionConfigOption, len(s.offered))
	for i, o := range s.offered {
		one := *o.Select
		one.CurrentValue = s.chosen[one.Id]
		out[i] = sdk.SessionConfigOption{Select: &one}
	}
	return out
}

func (s *session) modes() *sdk.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &sdk.SessionModeState{CurrentModeId: s.mode, AvailableModes: []sdk.SessionMode{
		{Id: modeAsk, Name: "Ask", Description: sdk.Ptr("Asks before it changes files or runs commands")},
		{Id: modeEdit, Name: "Accept edits", Description: sdk.Ptr("Changes files without asking; asks before it runs commands")},
		{Id: modeRead, Name: "Read only", Description: sdk.Ptr("Changes no files and runs no commands in your folder")}}}
}

// NewSession implements sdk.Agent. Its thread is made with the first prompt.
func (e *editor) NewSession(ctx context.Context, r sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	server, err := e.reach(ctx)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	s, err := e.open(ctx, server, sdk.SessionId(id.String()), r.Cwd, r.AdditionalDirectories)
	if err != nil {
		return sdk.NewSessionResponse{}, err
	}
	return sdk.NewSessionResponse{SessionId: s.id, Modes: s.modes(), ConfigOptions: s.settings()}, nil
}

// again opens a session of an existing thread.
func (e *editor) again(ctx context.Context, id sdk.SessionId, folder string, more []string) (*session, client.Server, error) {
	server, err := e.reach(ctx)
	if err != nil {
		return nil, server, err
	}
	var t struct {
		Metadata map[string]any `json:"metadata"`
	}
	at := "/threads/" + url.PathEscape(string(id))
	if err := server.Call(ctx, http.MethodGet, at, nil, &t); err != nil {
		return nil, server, failure(err)
	}
	s, err := e.open(ctx, server, id, folder, more)
	if err != nil {
		return nil, server, err
	}
	if want := s.metadata(); t.Metadata[keyClient] != isEditor || t.Metadata[keyFolder] != s.folder {
		err = server.Call(ctx, http.MethodPatch, at, map[string]any{"metadata": want}, nil)
	}
	if err != nil {
		return nil, server, failure(err)
	}
	return s, server, nil
}

func (s *session) metadata() map[string]any {
	return map[string]any{keyClient: isEditor, keyFolder: s.folder}
}

// LoadSession implements sdk.AgentLoader: it replays the conversation to the editor.
func (e *editor) LoadSession(ctx context.Context, r sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	s, server, err := e.again(ctx, r.SessionId, r.Cwd, r.AdditionalDirectories)
	if err != nil {
		return sdk.LoadSessionResponse{}, err
	}
	var now state
	if err := server.Call(ctx, http.MethodGet, s.path("/state"), nil, &now); err != nil {
		return sdk.LoadSessionResponse{}, failure(err)
	}
	t := e.teller(ctx, s)
	t.past(now)
	return sdk.LoadSessionResponse{Modes: s.modes(), ConfigOptions: s.settings()}, t.err
}

// ResumeSession implements sdk.Agent.
func (e *editor) ResumeSession(ctx context.Context, r sdk.ResumeSessionRequest) (sdk.ResumeSessionResponse, error) {
	s, _, err := e.again(ctx, r.SessionId, r.Cwd, r.AdditionalDirectories)
	if err != nil {
		return sdk.ResumeSessionResponse{}, err
	}
	return sdk.ResumeSessionResponse{Modes: s.modes(), ConfigOptions: s.settings()}, nil
}

// ListSessions implements sdk.Agent. The cursor is the number of sessions listed before.
func (e *editor) ListSessions(ctx context.Context, r sdk.ListSessionsRequest) (sdk.ListSessionsResponse, error) {
	out := sdk.ListSessionsResponse{Sessions: []sdk.SessionInfo{}}
	server, err := e.reach(ctx)
	if err != nil {
		return out, err
	}
	from := 0
	if r.Cursor != nil {
		if from, err = strconv.Atoi(*r.Cursor); err != nil || from < 0 {
			return out, &sdk.RequestError{Code: -32602, Message: "the cursor is not one of this list"}
		}
	}
	which := map[string]any{keyClient: isEditor}
	if r.Cwd != nil {
		which[keyFolder] = filepath.Clean(*r.Cwd)
	}
	var list []struct {
		ID       string         `json:"thread_id"`
		Updated  string         `json:"updated_at"`
		Metadata map[string]any `json:"metadata"`
		Values   struct {
			Title string `json:"title"`
		} `json:"values"`
	}
	if err := server.Call(ctx, http.MethodPost, "/threads/search", map[string]any{"metadata": which, "limit": listed,
		"offset": from, "sort_by": "updated_at", "sort_order": "desc"}, &list); err != nil {
		return out, failure(err)
	}
	for _, t := range list {
		folder, _ := t.Metadata[keyFolder].(string)
		info := sdk.SessionInfo{SessionId: sdk.SessionId(t.ID), Cwd: folder, UpdatedAt: sdk.Ptr(t.Updated)}
		if t.Values.Title != "" {
			info.Title = sdk.Ptr(t.Values.Title)
		}
		out.Sessions = append(out.Sessions, info)
	}
	if len(list) == listed {
		out.NextCursor = sdk.Ptr(strconv.Itoa(from + listed))
	}
	return out, nil
}

// CloseSession implements sdk.Agent.
func (e *editor) CloseSession(_ context.Context, r sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	s, err := e.session(r.SessionId)
	if err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	s.stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, r.SessionId)
	return sdk.CloseSessionResponse{}, nil
}

// Cancel implements sdk.Agent.
func (e *editor) Cancel(_ context.Context, r sdk.CancelNotification) error {
	s, err := e.session(r.SessionId)
	if err == nil {
		s.stop()
	}
	return nil // a missing session has nothing to cancel
}

// stop cancels the active prompt.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// SetSessionMode implements sdk.Agent.
func (e *editor) SetSessionMode(_ context.Context, r sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := e.session(r.SessionId)
	if err != nil {
		return sdk.SetSessionModeResponse{}, err
	}
	switch r.ModeId {
	case modeAsk, modeEdit, modeRead:
	default:
		return sdk.SetSessionModeResponse{}, &sdk.RequestError{Code: -32602,
			Message: fmt.Sprintf("there is no mode %q: want ask, accept_edits or read_only", r.ModeId)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = r.ModeId
	return sdk.SetSessionModeResponse{}, nil
}

// SetSessionConfigOption implements sdk.Agent. It counts from the next prompt on.
func (e *editor) SetSessionConfigOption(_ context.Context, r sdk.SetSessionConfigOptionRequest) (
	sdk.SetSessionConfigOptionResponse, error) {
	var out sdk.SetSessionConfigOptionResponse
	v := r.ValueId
	if v == nil {
		return out, &sdk.RequestError{Code: -32602, Message: "every setting has a list of values to choose from"}
	}
	s, err := e.session(v.SessionId)
	if err != nil {
		return out, err
	}
	if !s.choose(v.ConfigId, v.Value) {
		return out, &sdk.RequestError{Code: -32602, Message: fmt.Sprintf("%q is no value of %q", v.Value, v.ConfigId)}
	}
	out.ConfigOptions = s.settings()
	return out, nil
}

func (s *session) choose(id sdk.SessionConfigId, value sdk.SessionConfigValueId) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.offered {
		if o.Select.Id != id {
			continue
		}
		for _, one := range *o.Select.Options.Ungrouped {
			if one.Value == value {
				s.chosen[id] = value
				return true
			}
		}
	}
	return false
}

// choices returns the mode and the settings at this moment.
func (s *session) choices() (sdk.SessionModeId, map[sdk.SessionConfigId]sdk.SessionConfigValueId) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode, maps.Clone(s.chosen)
}
