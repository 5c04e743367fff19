package tools

import (
	"bytes"
	"context"
	_ "embed" // the texts of the tools
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/media"
	"fawn/sandbox/files"

	"github.com/gabriel-vasile/mimetype"
)

// Names of the media tools.
const (
	GenerateImage   = "generate_image"
	EditImage       = "edit_image"
	GenerateSpeech  = "generate_speech"
	TranscribeAudio = "transcribe_audio"
)

var (
	//go:embed generate_image.md
	generateImageText string
	//go:embed edit_image.md
	editImageText string
	//go:embed generate_speech.md
	generateSpeechText string
	//go:embed transcribe_audio.md
	transcribeAudioText string
)

// Models connects to the media models configured at the time of a call.
type Models struct {
	Images, Speech, Transcription func() (*media.Client, error)
}

// Media returns the tools that generate images and speech and transcribe recordings. Offer those with a configured
// model.
func Media(open Files, models Models) []*agent.Tool {
	m := &mediaSet{set: set{open: open, limits: DefaultLimits(), locks: NewLocks()}, models: models}
	return []*agent.Tool{
		New(GenerateImage, GroupWrite, generateImageText, m.generateImage),
		reading(New(EditImage, GroupWrite, editImageText, m.editImage)),
		New(GenerateSpeech, GroupWrite, generateSpeechText, m.generateSpeech),
		reading(New(TranscribeAudio, GroupRead, transcribeAudioText, m.transcribeAudio)),
	}
}

type mediaSet struct {
	set
	models Models
}

// Limits of uploads to the models.
const (
	maxImagePrompt = 32_000   // bytes
	maxSpeech      = 4096     // characters of one request, as OpenAI has it
	maxSpoken      = 60_000   // characters of one call
	maxRecording   = 25 << 20 // bytes, as OpenAI has it
)

type generateImageArgs struct {
	Prompt     string `json:"prompt" jsonschema:"what the picture shows: subject, setting, style, light, colours, text to be written in it"`
	Size       string `json:"size,omitempty" jsonschema:"width x height such as 1024x1024, 1536x1024 or 1024x1536; the model chooses if left out"`
	Count      int    `json:"count,omitempty" jsonschema:"how many variants, 1 to 4; 1 if left out"`
	Quality    string `json:"quality,omitempty" jsonschema:"low, medium or high, where the model knows that"`
	Background string `json:"background,omitempty" jsonschema:"transparent or opaque, where the model knows that"`
	Seed       *int64 `json:"seed,omitempty" jsonschema:"the same seed and prompt give the same picture, where the model knows that"`
	Name       string `json:"name,omitempty" jsonschema:"name of the file without its ending; made from the prompt if left out"`
}

type editImageArgs struct {
	ImagePath string `json:"image_path" jsonschema:"the picture to change: PNG, JPEG or WebP; absolute, or relative to /mnt/user-data/workspace"`
	MaskPath  string `json:"mask_path,omitempty" jsonschema:"a PNG of the same size that is transparent where the picture may change"`
	Prompt    string `json:"prompt" jsonschema:"what the picture shows afterwards, and what stays as it is"`
	Size      string `json:"size,omitempty" jsonschema:"width x height such as 1024x1024; the model chooses if left out"`
	Count     int    `json:"count,omitempty" jsonschema:"how many variants, 1 to 4; 1 if left out"`
	Name      string `json:"name,omitempty" jsonschema:"name of the new file without its ending"`
}

type generateSpeechArgs struct {
	Text  string       `json:"text,omitempty" jsonschema:"what is read aloud"`
	Lines []spokenLine `json:"lines,omitempty" jsonschema:"what several voices say, in order, instead of text"`
	Voice string       `json:"voice,omitempty" jsonschema:"a voice of the model, such as alloy, nova or onyx; the configured one if left out"`
	Name  string       `json:"name,omitempty" jsonschema:"name of the file without its ending"`
}

type spokenLine struct {
	Voice string `json:"voice" jsonschema:"who says it: a voice of the model"`
	Text  string `json:"text" jsonschema:"what is said"`
}

type transcribeAudioArgs struct {
	AudioPath string `json:"audio_path" jsonschema:"the recording: MP3, M4A, WAV, OGG, WebM, FLAC or MP4, at most 25 MiB; absolute, or relative to /mnt/user-data/workspace"`
	Language  string `json:"language,omitempty" jsonschema:"ISO 639-1 code of the language if it is known, such as de"`
}

// Pictures is the artifact of generate_image and edit_image under "pictures".
type Pictures struct {
	Prompt  string   `json:"prompt"`
	Revised string   `json:"revised_prompt,omitempty"`
	Model   string   `json:"model"`
	Size    string   `json:"size,omitempty"`
	Seed    *int64   `json:"seed,omitempty"`
	Source  string   `json:"source,omitempty"` // virtual path of the picture that was edited
	Files   []string `json:"files"`            // virtual paths
}

// ReadPictures returns the images of an artifact; nil for other tools.
func ReadPictures(raw json.RawMessage) *Pictures {
	var a struct {
		Pictures *Pictures `json:"pictures"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return a.Pictures
}

func (m *mediaSet) generateImage(ctx context.Context, t *agent.Turn, a generateImageArgs) (agent.Result, error) {
	art := Pictures{Prompt: strings.TrimSpace(a.Prompt), Size: a.Size, Seed: a.Seed}
	return m.draw(ctx, t, art, a.Name, media.Request{Prompt: art.Prompt, Count: a.Count, Size: a.Size, Quality: a.Quality,
		Background: a.Background, Seed: a.Seed})
}

func (m *mediaSet) editImage(ctx context.Context, t *agent.Turn, a editImageArgs) (agent.Result, error) {
	r := media.Request{Prompt: strings.TrimSpace(a.Prompt), Count: a.Count, Size: a.Size}
	art := Pictures{Prompt: r.Prompt, Size: a.Size}
	res, err := m.with(t, func(f *files.Files) (res agent.Result, err error) {
		if r.Image, art.Source, res, err = picture(f, a.ImagePath); err != nil || res.IsError || a.MaskPath == "" {
			return res, err
		}
		r.Mask, _, res, err = picture(f, a.MaskPath)
		return res, err
	})
	if err != nil || res.IsError {
		return res, err
	}
	return m.draw(ctx, t, art, a.Name, r)
}

// picture reads a picture that is sent to a model.
func picture(f *files.Files, name string) (data []byte, clean string, res agent.Result, err error) {
	data, clean, res, err = readWhole(f, name, maxImage)
	if err != nil || res.IsError {
		return nil, "", res, err
	}
	switch kind := mimetype.Detect(data); kind.String() {
	case "image/png", "image/jpeg", "image/webp":
		return data, clean, res, nil
	default:
		res, err = failed("%s is %s. Only PNG, JPEG and WebP pictures can be edited: convert it first.", show(name),
			kind.String())
		return nil, "", res, err
	}
}

// readWhole reads a file of the thread up to a size limit.
func readWhole(f *files.Files, name string, most int64) (data []byte, clean string, res agent.Result, err error) {
	if clean, err = files.Clean(name); err != nil {
		res, err = explain(err, name, wantFile)
		return nil, "", res, err
	}
	file, info, err := f.Open(clean)
	if err != nil {
		res, err = explain(err, name, wantFile)
		return nil, "", res, err
	}
	defer file.Close()
	if info.Size() > most {
		res, err = failed("%s has %.1f MiB, more than the %d that can be sent", show(name),
			float64(info.Size())/(1<<20), most>>20)
		return nil, "", res, err
	}
	if data, err = io.ReadAll(io.LimitReader(file, most)); err != nil {
		return nil, "", res, fmt.Errorf("read file: %w", err)
	}
	return data, clean, res, nil
}

// draw requests images and stores them.
func (m *mediaSet) draw(ctx context.Context, t *agent.Turn, art Pictures, name string, r media.Request) (agent.Result,
	error) {
	switch {
	case r.Prompt == "":
		return failed(`argument "prompt" is empty`)
	case len(r.Prompt) > maxImagePrompt:
		return failed("the prompt has %d bytes, more than the %d that can be sent", len(r.Prompt), maxImagePrompt)
	case r.Count < 0 || r.Count > media.MaxImages:
		return failed(`argument "count" must be 1 to %d`, media.MaxImages)
	}
	c, err := m.models.Images()
	if err != nil {
		return failed("No pictures can be made: %v", err)
	}
	made, err := c.Draw(ctx, r)
	if err != nil {
		return refused(ctx, "The pictures weren't made", err)
	}
	art.Model, art.Revised = c.Model(), made[0].Revised
	var said strings.Builder
	fmt.Fprintf(&said, "Made %s with %s, shown to the user; present_files is not needed.\n",
		count(len(made), "picture"), c.Model())
	for _, p := range made {
		at, res, err := m.keep(ctx, t, stem(name, r.Prompt, "picture")+p.Ext, p.Data)
		if err != nil || res.IsError {
			return res, err
		}
		art.Files = append(art.Files, at)
		fmt.Fprintf(&said, "%s (%s%d KB)\n", at, dimensions(p.Data), max(len(p.Data)>>10, 1))
	}
	if art.Revised != "" && art.Revised != art.Prompt {
		fmt.Fprintf(&said, "The model read the prompt as: %s\n", clip(art.Revised, 2000))
	}
	res := agent.TextResult(strings.TrimSpace(said.String()))
	res.Patch.Artifacts = art.Files
	res.Artifact, err = agent.Encode(map[string]any{"pictures": art})
	return res, err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// dimensions returns for example "1024×768, " for formats that the program decodes.
func dimensions(data []byte) string {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d×%d, ", c.Width, c.Height)
}

// refused passes a provider's message to the model; the end of a run stays an error.
func refused(ctx context.Context, what string, err error) (agent.Result, error) {
	var said *llmerr.Error
	if !errors.As(err, &said) || ctx.Err() != nil {
		return agent.Result{}, err
	}
	return failed("%s: %s", what, clip(said.Error(), 2000))
}

// keep stores a new file among the outputs under a name that no other has.
func (m *mediaSet) keep(ctx context.Context, t *agent.Turn, name string, data []byte) (at string, res agent.Result,
	err error) {
	unlock, err := m.locks.Lock(ctx, t.ThreadID, files.Outputs)
	if err != nil {
		return "", res, err
	}
	defer unlock()
	res, err = m.with(t, func(f *files.Files) (agent.Result, error) {
		ext := path.Ext(name)
		for n := 1; ; n++ {
			at = path.Join(files.Outputs, name)
			if n > 1 {
				at = path.Join(files.Outputs, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext))
			}
			_, err := f.Stat(at)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return explain(err, at, wantFile)
			}
		}
		if err := f.WriteFile(ctx, at, data, false); err != nil {
			return explain(err, at, wantFile)
		}
		return agent.Result{}, nil
	})
	return at, res, err
}

// stem returns a short name of a file: the given one, else the first words of a text.
func stem(name, text, otherwise string) string {
	if name = strings.TrimSuffix(path.Base("/"+name), path.Ext(name)); name == "/" || name == "." {
		name = ""
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return !named1(r) && r != '_' && r != '.' })
	if len(words) == 0 {
		words = strings.FieldsFunc(strings.ToLower(clip(text, 200)), func(r rune) bool { return !named1(r) })
		words = words[:min(len(words), 5)]
	}
	if out := strings.Trim(strings.TrimSuffix(clip(strings.Join(words, "-"), 60), "..."), "-."); out != "" {
		return out
	}
	return otherwise
}

func named1(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func (m *mediaSet) generateSpeech(ctx context.Context, t *agent.Turn, a generateSpeechArgs) (agent.Result, error) {
	lines := a.Lines
	if strings.TrimSpace(a.Text) != "" {
		if len(lines) > 0 {
			return failed(`give "text" or "lines", not both`)
		}
		lines = []spokenLine{{a.Voice, a.Text}}
	}
	total := 0
	var parts []spokenLine
	for _, l := range lines {
		for _, p := range spoken(l.Text) {
			parts = append(parts, spokenLine{l.Voice, p})
			total += len([]rune(p))
		}
	}
	switch {
	case len(parts) == 0:
		return failed("there is nothing to say: give \"text\" or \"lines\"")
	case total > maxSpoken:
		return failed("the text has %d characters, more than the %d that one call reads aloud. Make several files.", total,
			maxSpoken)
	}
	c, err := m.models.Speech()
	if err != nil {
		return failed("Nothing can be read aloud: %v", err)
	}
	var sound []byte // MP3 is a sequence of frames, so that parts can follow each other
	for _, p := range parts {
		voice := p.Voice
		if voice == "" {
			voice = a.Voice
		}
		data, err := c.Speak(ctx, p.Text, voice)
		if err != nil {
			return refused(ctx, "Nothing was read aloud", err)
		}
		if sound = append(sound, withoutTag(data)...); len(sound) > maxSound {
			return failed("the recording is longer than %d MB. Make several files.", maxSound>>20)
		}
	}
	at, res, err := m.keep(ctx, t, stem(a.Name, parts[0].Text, "speech")+".mp3", sound)
	if err != nil || res.IsError {
		return res, err
	}
	res = agent.TextResult(fmt.Sprintf("Made %s with %s (%d KB). The user can play it; present_files is not needed.", at,
		c.Model(), max(len(sound)>>10, 1)))
	res.Patch.Artifacts = []string{at}
	return res, nil
}

// maxSound is the size of a recording in bytes.
const maxSound = 64 << 20

// withoutTag removes the ID3 tag before the frames, which players need once, for the first part.
func withoutTag(mp3 []byte) []byte {
	if len(mp3) < 10 || string(mp3[:3]) != "ID3" {
		return mp3
	}
	size := int(mp3[6]&0x7f)<<21 | int(mp3[7]&0x7f)<<14 | int(mp3[8]&0x7f)<<7 | int(mp3[9]&0x7f)
	if size+10 >= len(mp3) {
		return mp3
	}
	return mp3[size+10:]
}

// spoken splits a text into parts within the limit of one request, at the end of a sentence or a word if
// possible.
func spoken(text string) (parts []string) {
	rest := []rune(strings.TrimSpace(text))
	for len(rest) > maxSpeech {
		cut := maxSpeech
		for i := maxSpeech; i > maxSpeech/2; i-- {
			if strings.ContainsRune("\n.!?。！？", rest[i-1]) {
				cut = i
				break
			}
			if cut == maxSpeech && unicode.IsSpace(rest[i-1]) {
				cut = i
			}
		}
		parts = append(parts, strings.TrimSpace(string(rest[:cut])))
		rest = []rune(strings.TrimSpace(string(rest[cut:])))
	}
	if len(rest) > 0 {
		parts = append(parts, string(rest))
	}
	return parts
}

func (m *mediaSet) transcribeAudio(ctx context.Context, t *agent.Turn, a transcribeAudioArgs) (agent.Result, error) {
	var data []byte
	res, err := m.with(t, func(f *files.Files) (res agent.Result, err error) {
		data, _, res, err = readWhole(f, a.AudioPath, maxRecording)
		return res, err
	})
	if err != nil || res.IsError {
		return res, err
	}
	kind := mimetype.Detect(data).String()
	if family, _, _ := strings.Cut(kind, "/"); family != "audio" && family != "video" && kind != "application/ogg" {
		return failed("%s is no recording: its content is %s", show(a.AudioPath), kind)
	}
	c, err := m.models.Transcription()
	if err != nil {
		return failed("No recording can be transcribed: %v", err)
	}
	text, err := c.Transcribe(ctx, path.Base(a.AudioPath), bytes.NewReader(data), strings.TrimSpace(a.Language))
	if err != nil {
		return refused(ctx, "The recording wasn't transcribed", err)
	}
	if text == "" {
		return agent.TextResult("Nobody says anything in this recording."), nil
	}
	return agent.TextResult(text), nil
}
