package lead

import (
	"fawn/agent"
	"fawn/agent/config"
	"fawn/agent/llm/media"
	"fawn/agent/tools"
)

// Media connects to the media models configured at the time of a call.
func (b *Builder) Media() tools.Models {
	connect := func(of func(config.File) media.Config) func() (*media.Client, error) {
		return func() (*media.Client, error) {
			c := of(b.config().File)
			c.Guard = b.guard()
			return media.New(c)
		}
	}
	return tools.Models{
		Images: connect(func(f config.File) media.Config {
			return media.Config{Model: f.Images.Model, BaseURL: f.Images.BaseURL, APIKey: string(f.Images.APIKey)}
		}),
		Speech: connect(func(f config.File) media.Config {
			return media.Config{Model: f.Speech.Model, BaseURL: f.Speech.BaseURL, APIKey: string(f.Speech.APIKey),
				Voice: f.Speech.Voice}
		}),
		Transcription: connect(func(f config.File) media.Config {
			return media.Config{Model: f.Transcription.Model, BaseURL: f.Transcription.BaseURL,
				APIKey: string(f.Transcription.APIKey)}
		}),
	}
}

// Modelless reports whether a tool's model isn't configured.
func Modelless(f config.File, t *agent.Tool) bool {
	switch t.Name {
	case tools.GenerateImage, tools.EditImage:
		return f.Images.Model == ""
	case tools.GenerateSpeech:
		return f.Speech.Model == ""
	case tools.TranscribeAudio:
		return f.Transcription.Model == ""
	}
	return false
}
