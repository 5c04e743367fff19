package middleware_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/middleware"
	"fawn/sandbox/files"
)

const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU"

func imageBench(t *testing.T) *bench {
	b := newBench(t, func(open func(string) (*files.Files, error)) []agent.Middleware {
		return []agent.Middleware{middleware.ViewImage(open)}
	})
	b.turn.Options.Vision = true
	return b
}

// shown is a request's images as one line of text a block.
func shown(t *testing.T, m *agent.Message) []string {
	t.Helper()
	var out []string
	for _, raw := range m.Content.Blocks {
		var b struct {
			Type, Text string
			Image      struct{ URL string } `json:"image_url"`
		}
		must.Do(t, json.Unmarshal(raw, &b))
		out = append(out, b.Text+b.Image.URL)
	}
	return out
}

func TestImagesAreShownBehindTheirCallsAndOnlyThere(t *testing.T) {
	b := imageBench(t)
	b.put("workspace/b.png", pixel)
	b.put("uploads/a.png", pixel+"more")
	if req, err := b.request(t.Context()); err != nil || len(req.Messages) != 1 {
		t.Fatalf("%d messages without images, %v", len(req.Messages), err)
	}
	b.wants("Successfully read image", "view_image", arg{"image_path": "b.png"})
	must.Do(t, b.turn.State.Apply(b.tryPatch("view_image", arg{"image_path": "../uploads/a.png"})))
	// A message which came in between must not part the images from their calls.
	must.Do(t, b.turn.State.Apply(agent.State{Messages: []*agent.Message{{ID: "h2", Type: agent.TypeHuman,
		Content: agent.Text("and now?")}}}))
	before := must.Get(agent.Encode(b.turn.State))(t)
	req := must.Get(b.request(t.Context()))(t)
	n := len(req.Messages)
	if n != 5 || req.Messages[2].Type != agent.TypeTool || req.Messages[4].ID != "h2" ||
		req.Messages[3].Type != agent.TypeHuman {
		t.Fatalf("%d messages", n)
	}
	got := shown(t, req.Messages[3])
	url := func(data string) string {
		return "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(data))
	}
	if len(got) != 5 || got[1] != "- /mnt/user-data/uploads/a.png (image/png)" || got[2] != url(pixel+"more") ||
		got[3] != "- /mnt/user-data/workspace/b.png (image/png)" || got[4] != url(pixel) {
		t.Errorf("shown %q", got)
	}
	after, err := agent.Encode(b.turn.State)
	if err != nil || string(after) != string(before) || strings.Contains(string(after), "base64") {
		t.Errorf("the state changed to %s %v", after, err)
	}

	r := &agent.Reply{Message: &agent.Message{ID: "a9", Type: agent.TypeAI, Content: agent.Text("a dot")}}
	if err := b.chain[0].AfterModel(t.Context(), b.turn, r); err != nil || r.Patch.ViewedImages == nil ||
		len(r.Patch.ViewedImages) != 0 || r.Message.ID != "a9" {
		t.Fatalf("patch %+v %v", r.Patch, err)
	}
	must.Do(t, errors.Join(b.turn.State.Apply(agent.State{Messages: []*agent.Message{r.Message}}),
		b.turn.State.Apply(r.Patch)))
	if req, err := b.request(t.Context()); err != nil || len(req.Messages) != 5 {
		t.Errorf("%d messages after the answer, %v", len(req.Messages), err)
	}
	r = &agent.Reply{Message: r.Message}
	if err := b.chain[0].AfterModel(t.Context(), b.turn, r); err != nil || r.Patch.ViewedImages != nil {
		t.Errorf("cleared twice: %+v %v", r.Patch, err)
	}
}

// tryPatch is the state change of a call that is not kept.
func (b *bench) tryPatch(name string, args any) agent.State {
	b.t.Helper()
	_, r, err := b.try(b.t.Context(), name, args)
	if err != nil || r.IsError {
		b.t.Fatalf("%s(%v): %q %v", name, args, r.Content.Text, err)
	}
	return r.Patch
}

// TestBytesThatAClientSentAreShown, as the state's example in DeerFlow's pages has them.
func TestBytesThatAClientSentAreShown(t *testing.T) {
	b := imageBench(t)
	b.put("workspace/a.png", pixel)
	b.call("view_image", arg{"image_path": "a.png"})
	sent := base64.StdEncoding.EncodeToString([]byte(pixel))
	must.Do(t, b.turn.State.Apply(agent.State{ViewedImages: map[string]agent.Image{"sent.png": {MimeType: "image/png",
		Base64: sent}}}))
	req := must.Get(b.request(t.Context()))(t)
	if got := fmt.Sprintf("%s", req.Messages[len(req.Messages)-1].Content.Blocks); strings.Count(got, sent) != 2 ||
		!strings.Contains(got, "- sent.png (image/png)") {
		t.Errorf("%s", got)
	}
}

func TestAnImageThatCannotBeShownIsExplained(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(b *bench, path string) error
	}{
		{"deleted", "cannot be shown: it can no longer be read", func(_ *bench, p string) error { return os.Remove(p) }},
		{"longer", "cannot be shown: it has changed", func(_ *bench, p string) error { return os.WriteFile(p, []byte(pixel+"x"), 0o644) }},
		{"another kind", "cannot be shown: it has changed", func(_ *bench, p string) error {
			return os.WriteFile(p, []byte("GIF89a"+strings.Repeat("x", len(pixel)-6)), 0o644)
		}},
		{"huge", "cannot be shown: too many large images", func(b *bench, _ string) error {
			return b.turn.State.Apply(agent.State{
				ViewedImages: map[string]agent.Image{"/mnt/user-data/workspace/a.png": {MimeType: "image/png",
					Size: 21 << 20, Path: "/mnt/user-data/workspace/a.png"}},
			})
		}},
		{"sent as another kind", "cannot be shown: it can no longer be read", func(b *bench, _ string) error {
			return b.turn.State.Apply(agent.State{
				ViewedImages: map[string]agent.Image{"/mnt/user-data/workspace/a.png": {MimeType: "image/gif",
					Base64: base64.StdEncoding.EncodeToString([]byte(pixel))}},
			})
		}},
		{"a path outside", "cannot be shown: it can no longer be read", func(b *bench, _ string) error {
			return b.turn.State.Apply(agent.State{
				ViewedImages: map[string]agent.Image{"/mnt/user-data/workspace/a.png": {MimeType: "image/png", Size: 5,
					Path: "/etc/passwd"}},
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := imageBench(t)
			b.put("workspace/a.png", pixel)
			b.call("view_image", arg{"image_path": "a.png"})
			must.Do(t, c.change(b, filepath.Join(b.host, "workspace", "a.png")))
			req := must.Get(b.request(t.Context()))(t)
			got := shown(t, req.Messages[len(req.Messages)-1])
			if len(got) != 2 || !strings.Contains(got[1], "- /mnt/user-data/workspace/a.png "+c.want) {
				t.Errorf("shown %q", got)
			}
		})
	}
}

func TestLargeImagesShareARequest(t *testing.T) {
	b := imageBench(t)
	for _, name := range []string{"a.png", "b.png", "c.png"} {
		b.put("workspace/"+name, pixel)
		must.Do(t, os.Truncate(filepath.Join(b.host, "workspace", name), 15<<20))
	}
	b.call("view_image", arg{"image_path": "a.png"})
	for _, name := range []string{"b.png", "c.png"} {
		must.Do(t, b.turn.State.Apply(b.tryPatch("view_image", arg{"image_path": name})))
	}
	req := must.Get(b.request(t.Context()))(t)
	got := shown(t, req.Messages[len(req.Messages)-1])
	if len(got) != 6 || !strings.Contains(got[5], "c.png cannot be shown: too many large images") {
		t.Errorf("%d blocks", len(got))
	}
}

func TestAModelWithoutEyesGetsNoImages(t *testing.T) {
	b := imageBench(t)
	b.put("workspace/a.png", pixel)
	b.call("view_image", arg{"image_path": "a.png"})
	b.turn.Options.Vision = false
	req, err := b.request(t.Context())
	r := &agent.Reply{}
	if err != nil || len(req.Messages) != 3 || b.chain[0].AfterModel(t.Context(), b.turn, r) != nil ||
		r.Patch.ViewedImages != nil {
		t.Errorf("%d messages, patch %+v, %v", len(req.Messages), r.Patch, err)
	}
	b.turn.Options.Vision = true
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := b.request(ctx); !errors.Is(err, stop) {
		t.Errorf("after cancel: %v", err)
	}
}
