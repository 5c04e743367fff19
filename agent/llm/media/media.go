// Package media generates images and speech, and transcribes recordings, with models behind OpenAI-compatible APIs
// (images/generations, images/edits, audio/speech, audio/transcriptions).
package media

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"
	client "github.com/sashabaranov/go-openai"

	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/openai"
	"fawn/agent/llm/wire"
	"fawn/sandbox/netguard"
)

// Limits of one call.
const (
	callTime   = 5 * time.Minute
	MaxImages  = 4
	maxAnswer  = 160 << 20 // bytes of an answer: four pictures in base64
	MaxPicture = 32 << 20  // bytes of one picture
	maxAudio   = 64 << 20  // bytes of speech
)

// Config selects the model and its address.
type Config struct {
	Model   string // required
	BaseURL string // root, or root + /v1; empty is OpenAI's
	APIKey  string
	Voice   string          // voice for generated speech
	Guard   *netguard.Guard // checks addresses of images in an answer; nil permits public ones
	HTTP    *http.Client    // nil uses the one shared with chat models
}

// Client calls one model. It is safe for concurrent use; refusals are [llmerr.Error].
type Client struct {
	cfg  Config
	api  *client.Client
	host string
}

// New checks the configuration without a request.
func New(cfg Config) (*Client, error) {
	if cfg.Model == "" {
		return nil, errors.New("no model is set")
	}
	base, query, err := openai.Endpoint(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	if cfg.Guard == nil {
		cfg.Guard = &netguard.Guard{}
	}
	h := wire.Client(cfg.HTTP)
	h.Transport = &wire.Direct{Below: h.Transport, Query: query, Secrets: wire.Secrets(cfg.APIKey, nil), Most: maxAnswer,
		Body: mended}
	cc := client.DefaultConfig(cfg.APIKey)
	cc.BaseURL, cc.HTTPClient = base, h
	return &Client{cfg: cfg, api: client.NewClientWithConfig(cc), host: u.Host}, nil
}

// Model returns the provider's name of the model.
func (c *Client) Model() string { return c.cfg.Model }

// Request asks for pictures. Zero values leave a choice to the model.
type Request struct {
	Prompt     string
	Count      int    // 1 to MaxImages
	Size       string // such as 1024x1024
	Quality    string
	Background string
	Seed       *int64
	Image      []byte // original when editing
	Mask       []byte // transparent where Image may change
}

// Picture is a generated image.
type Picture struct {
	Data    []byte
	Type    string // image/png, image/jpeg, image/webp or image/gif
	Ext     string // with its dot
	Revised string // the prompt as rewritten by the model; empty if not reported
}

// Draw generates or edits images.
func (c *Client) Draw(ctx context.Context, r Request) ([]Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	n := min(max(r.Count, 1), MaxImages)
	var answer client.ImageResponse
	var err error
	if r.Image == nil {
		answer, err = c.api.CreateImage(with(ctx, map[string]any{"seed": seed(r.Seed)}), client.ImageRequest{
			Prompt: r.Prompt, Model: c.cfg.Model, N: n, Size: r.Size, Quality: r.Quality, Background: r.Background})
	} else {
		edit := client.ImageEditRequest{Image: file(r.Image, "image"), Prompt: r.Prompt, Model: c.cfg.Model, N: n,
			Size: r.Size, Quality: r.Quality}
		if r.Mask != nil {
			edit.Mask = file(r.Mask, "mask")
		}
		answer, err = c.api.CreateEditImage(ctx, edit)
	}
	if err != nil {
		return nil, wire.Failed(ctx, err, callTime)
	}
	var out []Picture
	for _, d := range answer.Data[:min(len(answer.Data), n)] {
		p, err := c.picture(ctx, d)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, &llmerr.Error{Class: llmerr.ClassInvalid, Message: "the answer has no picture"}
	}
	return out, nil
}

func seed(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

func file(data []byte, name string) io.Reader {
	kind := mimetype.Detect(data)
	return client.WrapReader(strings.NewReader(string(data)), name+kind.Extension(), kind.String())
}

// picture decodes or downloads one image and validates it.
func (c *Client) picture(ctx context.Context, d client.ImageResponseDataInner) (p Picture, err error) {
	bad := func(format string, args ...any) (Picture, error) {
		return Picture{}, &llmerr.Error{Class: llmerr.ClassInvalid, Message: fmt.Sprintf(format, args...)}
	}
	p.Revised = d.RevisedPrompt
	code, inline := d.B64JSON, d.B64JSON != ""
	if rest, ok := strings.CutPrefix(d.URL, "data:"); ok && !inline {
		_, code, inline = strings.Cut(rest, ";base64,")
	}
	switch {
	case inline:
		if base64.StdEncoding.DecodedLen(len(code)) > MaxPicture {
			return bad("a picture has more than %d MB", MaxPicture>>20)
		}
		if p.Data, err = base64.StdEncoding.DecodeString(code); err != nil {
			return bad("a picture isn't valid base64")
		}
	case d.URL != "":
		if p.Data, err = c.fetch(ctx, d.URL); err != nil {
			var u *url.Error
			if errors.As(err, &u) { // without the address, which may be signed
				err = u.Err
			}
			return bad("the picture at %s can't be fetched: %v", host(d.URL), err)
		}
	default:
		return bad("the answer has no picture")
	}
	kind := mimetype.Detect(p.Data)
	switch kind.String() {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		p.Type, p.Ext = kind.String(), kind.Extension()
		return p, nil
	}
	return bad("the answer holds %s instead of a picture", kind.String())
}

// fetch downloads an image from the address in a response. The provider's own host is trusted like its API.
func (c *Client) fetch(ctx context.Context, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	h := netguard.Client(c.cfg.Guard, netguard.ClientLimits{Body: MaxPicture, Time: time.Minute})
	if r.URL.Host == c.host {
		h = wire.Client(c.cfg.HTTP)
	}
	resp, err := h.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return bounded(resp.Body, MaxPicture)
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its address"
	}
	return cmp.Or(u.Host, "its address")
}

// bounded reads a body up to a limit.
func bounded(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("more than %d MB", most>>20)
	}
	return data, err
}

// Speak converts a text to speech, as MP3. Voice is empty for the configured one.
func (c *Client) Speak(ctx context.Context, text, voice string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	body, err := c.api.CreateSpeech(ctx, client.CreateSpeechRequest{Model: client.SpeechModel(c.cfg.Model), Input: text,
		Voice:          client.SpeechVoice(cmp.Or(voice, c.cfg.Voice, string(client.VoiceAlloy))),
		ResponseFormat: client.SpeechResponseFormatMp3})
	if err != nil {
		return nil, wire.Failed(ctx, err, callTime)
	}
	defer body.Close()
	data, err := bounded(body, maxAudio)
	if err != nil {
		return nil, wire.Failed(ctx, err, callTime)
	}
	if kind := mimetype.Detect(data).String(); !strings.HasPrefix(kind, "audio/") {
		return nil, &llmerr.Error{Class: llmerr.ClassInvalid, Message: "the answer holds " + kind + " instead of speech"}
	}
	return data, nil
}

// Transcribe converts a recording to text. The file name implies the format; language is ISO 639-1 or empty.
func (c *Client) Transcribe(ctx context.Context, name string, recording io.Reader, language string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out, err := c.api.CreateTranscription(ctx, client.AudioRequest{Model: c.cfg.Model, FilePath: name, Reader: recording,
		Language: language})
	if err != nil {
		return "", wire.Failed(ctx, err, callTime)
	}
	return strings.TrimSpace(strings.ToValidUTF8(out.Text, "\uFFFD")), nil
}
