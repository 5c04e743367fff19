package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"fawn/web/e2e/scriptmodel"
	"fawn/web/webtest"
)

// TestAnswersAreReadAloudAndSpeechIsTranscribed goes through the routes that the pages use: an answer as MP3 in several
// requests, a recording as text, what the provider refuses, and both switched off.
func TestAnswersAreReadAloudAndSpeechIsTranscribed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var inputs []string
	var language, heard string
	audio := append([]byte("ID3\x04\x00\x00\x00\x00\x00\x02xx\xff\xfb\x90\x00"), make([]byte, 500)...)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.URL.Path {
		case "/v1/audio/speech":
			var body struct{ Input, Voice, Model string }
			_ = json.NewDecoder(r.Body).Decode(&body)
			inputs = append(inputs, body.Voice+": "+body.Input)
			w.Header().Set("Content-Type", "audio/mpeg")
			_, _ = w.Write(audio)
		case "/v1/audio/transcriptions":
			f, _, err := r.FormFile("file")
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			all, _ := io.ReadAll(f)
			heard, language = string(all), r.FormValue("language")
			w.Header().Set("Content-Type", "application/json")
			if heard == "noise" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error": {"message": "Audio file might be corrupted (secret-key)"}}`)
				return
			}
			fmt.Fprint(w, `{"text": "What is the time?"}`)
		}
	}))
	t.Cleanup(provider.Close)
	model := scriptedBy(scriptmodel.Start(t))
	voice := fmt.Sprintf("speech: {base_url: %q, api_key: secret-key, model: say, voice: nova}\ntranscription: {base_url: %q, api_key: secret-key, model: hear}\n",
		provider.URL, provider.URL)
	s := start(t, model+voice)
	long := strings.Repeat("A long **sentence** with `code` in it. ", 200)
	s.send(t, "POST", "/threads/v/runs/wait", fmt.Sprintf(`{"input": {"messages": [{"type": "human", "content": %q}]}}`,
		`SCRIPT{"turns": [{"text": "`+long+`"}]}`))
	state := webtest.Decode[struct {
		Values struct {
			Messages []struct{ ID, Type string }
		}
	}](t, s.send(t, "GET", "/threads/v/state", "").body)
	message := state.Values.Messages[len(state.Values.Messages)-1].ID
	at := "/ui/threads/v/messages/" + message + "/speech"
	if got := s.send(t, "GET", at, ""); got.status != http.StatusOK || got.header.Get("Content-Type") != "audio/mpeg" ||
		len(got.body) != len(inputs)*len(audio) {
		t.Errorf("%d %s, %d bytes for %d requests", got.status, got.header, len(got.body), len(inputs))
	}
	if all := strings.Join(inputs, ""); len(inputs) != 2 || strings.Contains(all, "**") || !strings.HasPrefix(all, "nova: A long sentence with code in it.") {
		t.Errorf("%d requests: %.200q", len(inputs), inputs)
	}
	if got := s.send(t, "GET", at+"?text=1", ""); !strings.HasPrefix(got.body, "A long sentence with code in it. A long") {
		t.Errorf("%.100s", got.body)
	}
	transcribe := func(recording string) answer {
		body, kind := webtest.Form(t, "audio", "dictation.webm", recording, "=lang", "zh-CN")
		return s.send(t, "POST", "/ui/transcribe", body, "Content-Type", kind)
	}
	if got := transcribe("a question"); got.status != 200 || !strings.Contains(got.body, "What is the time?") || heard != "a question" || language != "zh" {
		t.Error(got, heard, language)
	}
	transcribe("noise").want(t, "noise", http.StatusBadGateway, "might be corrupted", "!secret-key")
	page := s.send(t, "GET", "/workspace/chats/v", "").body
	webtest.Holds(t, "the page doesn't know of the models", page, "data-dictate", "data-speech")
	s.configure(t, model)
	s.send(t, "GET", at, "").want(t, "speech without a model", http.StatusNotFound)
	transcribe("a question").want(t, "a question", http.StatusNotFound, "No speech-to-text model")
	webtest.Holds(t, "the page still names the models", s.send(t, "GET", "/workspace/chats/v", "").body, "!data-dictate")
}
