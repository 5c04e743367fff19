package lead_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/agent/tools"
)

// provider answers as OpenAI's images and audio endpoints do: what they don't know, they refuse.
type provider struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // path and fields of each request
	link  bool     // pictures are told by address
	bad   string   // refuses with these words
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	refuse := func(status int, format string, args ...any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error": {"message": %q, "type": "invalid_request_error"}}`, fmt.Sprintf(format, args...))
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(redPNG())
		return
	}
	if r.Header.Get("Authorization") != "Bearer key-of-pictures" {
		refuse(401, "Incorrect API key provided")
		return
	}
	if p.bad != "" {
		refuse(400, "%s", p.bad)
		return
	}
	fields := map[string]string{}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			refuse(400, "%v", err)
			return
		}
		for k, v := range r.MultipartForm.Value {
			fields[k] = v[0]
		}
		for k, v := range r.MultipartForm.File {
			f, err := v[0].Open()
			if err != nil {
				refuse(400, "%v", err)
				return
			}
			data, _ := io.ReadAll(f)
			fields[k] = fmt.Sprintf("%s %s %d", v[0].Filename, v[0].Header.Get("Content-Type"), len(data))
			f.Close()
		}
	} else {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			refuse(400, "%v", err)
			return
		}
		for k, v := range body {
			fields[k] = fmt.Sprint(v)
		}
	}
	known := map[string]string{
		"/v1/images/generations":   " prompt model n size quality background seed user ",
		"/v1/images/edits":         " image mask prompt model n size quality user ",
		"/v1/audio/speech":         " model input voice response_format ",
		"/v1/audio/transcriptions": " model file language response_format ",
	}[r.URL.Path]
	for k, v := range fields {
		if !strings.Contains(known, " "+k+" ") || v == "" {
			refuse(400, "Unknown parameter or empty value: '%s'", k)
			return
		}
	}
	raw, _ := json.Marshal(fields)
	p.asked = append(p.asked, r.URL.Path+" "+string(raw))
	switch r.URL.Path {
	case "/v1/audio/speech":
		w.Header().Set("Content-Type", "audio/mpeg")
		_, _ = w.Write(append([]byte("ID3\x04\x00\x00\x00\x00\x00\x02xx\xff\xfb\x90\x00"), make([]byte, 500)...))
	case "/v1/audio/transcriptions":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text": " The meeting is on Friday. "}`)
	default:
		w.Header().Set("Content-Type", "application/json")
		one := map[string]any{"b64_json": base64.StdEncoding.EncodeToString(redPNG()), "revised_prompt": "A red square."}
		if p.link {
			one = map[string]any{"url": p.URL + "/made/1.png"}
		}
		data := []any{one, one}
		if fields["n"] == "1" {
			data = data[:1]
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"created": 1, "data": data})
	}
}

func redPNG() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 6)))
	return b.Bytes()
}

// newProvider is a provider and what makes a world use it.
func newProvider(t *testing.T) (*provider, setup) {
	p := &provider{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p, func(f *config.File, _ *lead.Options) {
		f.Images = config.Endpoint{BaseURL: p.URL, APIKey: "key-of-pictures", Model: "pic-1"}
		f.Speech = config.Speech{BaseURL: p.URL + "/v1", APIKey: "key-of-pictures", Model: "say-1", Voice: "nova"}
		f.Transcription = config.Endpoint{BaseURL: p.URL, APIKey: "key-of-pictures", Model: "hear-1"}
	}
}

// lastResult is the text of the newest tool message and what it says of pictures.
func (w *world) lastResult(t *testing.T) (string, *tools.Pictures) {
	t.Helper()
	for _, m := range reversed(w.state(t).Messages) {
		if m.Type == agent.TypeTool {
			return m.Content.String(), tools.ReadPictures(m.Artifact)
		}
	}
	t.Fatal("no tool was called")
	return "", nil
}

func reversed(list []*agent.Message) (out []*agent.Message) {
	for _, m := range list {
		out = append([]*agent.Message{m}, out...)
	}
	return out
}

// TestPicturesAreMadeAndEdited checks requests, files, artifacts and names of files that exist already.
func TestPicturesAreMadeAndEdited(t *testing.T) {
	t.Parallel()
	p, with := newProvider(t)
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("a", "generate_image", `{"prompt":"A red square, flat","count":2,"size":"1024x1024","seed":7}`),
		agenttest.Call("b", "edit_image", `{"prompt":"make it blue","image_path":"/mnt/user-data/outputs/a-red-square-flat.png","name":"blue"}`),
		agenttest.Say("Done."),
	}, with)
	w.say(t, "draw", "")
	got, art := w.lastResult(t)
	if want := "/mnt/user-data/outputs/blue.png (8×6, 1 KB)"; !strings.Contains(got, want) || art == nil ||
		art.Source != "/mnt/user-data/outputs/a-red-square-flat.png" {
		t.Errorf("%s, %+v", got, art)
	}
	want := []string{
		`/v1/images/generations {"model":"pic-1","n":"2","prompt":"A red square, flat","seed":"7","size":"1024x1024"}`,
		fmt.Sprintf(`/v1/images/edits {"image":"image.png image/png %d","model":"pic-1","n":"1","prompt":"make it blue"}`,
			len(redPNG())),
	}
	if fmt.Sprint(p.asked) != fmt.Sprint(want) {
		t.Errorf("asked\n%s", strings.Join(p.asked, "\n"))
	}
	s := w.state(t)
	if got := fmt.Sprint(s.Artifacts); got != "[/mnt/user-data/outputs/a-red-square-flat.png /mnt/user-data/outputs/a-red-square-flat-2.png /mnt/user-data/outputs/blue.png]" {
		t.Error(got)
	}
	f := must.Get(w.dirs.Open("t1"))(t)
	defer f.Close()
	for _, at := range s.Artifacts {
		if info, err := f.Stat(at); err != nil || info.Size() != int64(len(redPNG())) {
			t.Error(at, err)
		}
	}
}

// TestPicturesByAddressAndRefusals takes a picture from the provider's own host and tells the model what was refused,
// without the key.
func TestPicturesByAddressAndRefusals(t *testing.T) {
	t.Parallel()
	p, with := newProvider(t)
	p.link = true
	call := agenttest.Call("a", "generate_image", `{"prompt":"a tree"}`)
	w := newWorld(t, []agenttest.Reply{call, agenttest.Say("Done.")}, with)
	w.say(t, "draw", "")
	if got, _ := w.lastResult(t); !strings.Contains(got, "outputs/a-tree.png") {
		t.Error(got)
	}
	p.bad = "Your request was rejected by the safety system (key-of-pictures)"
	w = newWorld(t, []agenttest.Reply{call, agenttest.Say("Sorry.")}, with)
	w.say(t, "draw", "")
	got, _ := w.lastResult(t)
	if !strings.Contains(got, "rejected by the safety system") || strings.Contains(got, "key-of-pictures") {
		t.Error(got)
	}
}

// TestSpeechAndTranscription reads a conversation of two voices aloud and writes a recording down.
func TestSpeechAndTranscription(t *testing.T) {
	t.Parallel()
	p, with := newProvider(t)
	w := newWorld(t, []agenttest.Reply{
		agenttest.Call("a", "generate_speech", `{"name":"show","lines":[{"voice":"onyx","text":"Hello."},{"voice":"","text":"Hi!"}]}`),
		agenttest.Call("b", "transcribe_audio", `{"audio_path":"/mnt/user-data/outputs/show.mp3","language":"en"}`),
		agenttest.Say("Done."),
	}, with)
	w.say(t, "speak", "")
	if got, _ := w.lastResult(t); got != "The meeting is on Friday." {
		t.Error(got)
	}
	all := strings.Join(p.asked, "\n")
	for _, want := range []string{
		`/v1/audio/speech {"input":"Hello.","model":"say-1","response_format":"mp3","voice":"onyx"}`,
		`/v1/audio/speech {"input":"Hi!","model":"say-1","response_format":"mp3","voice":"nova"}`,
		`/v1/audio/transcriptions {"file":"show.mp3 audio/mpeg 1008","language":"en","model":"hear-1"}`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nis not in\n%s", want, all)
		}
	}
}

// TestModelsBesideChatAreOfferedOnlyWhereConfigured looks at the tools of a call.
func TestModelsBesideChatAreOfferedOnlyWhereConfigured(t *testing.T) {
	t.Parallel()
	_, with := newProvider(t)
	for n, change := range [][]setup{nil, {with}} {
		w := newWorld(t, []agenttest.Reply{agenttest.Say("Hi.")}, change...)
		w.say(t, "hi", "")
		var names []string
		for _, tool := range w.request(t, 0).Tools {
			names = append(names, tool.Name)
		}
		for _, name := range []string{"generate_image", "edit_image", "generate_speech", "transcribe_audio"} {
			if strings.Contains(strings.Join(names, " "), name) != (n == 1) {
				t.Errorf("%s of %v", name, names)
			}
		}
	}
}
