package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"fawn/agent/config/syntax"
)

// Kinds of models other than chat, named by their configuration keys.
const (
	MediaImages        = "images"
	MediaSpeech        = "speech"
	MediaTranscription = "transcription"
)

// MediaKinds lists them.
func MediaKinds() []string { return []string{MediaImages, MediaSpeech, MediaTranscription} }

// ErrNoMedia means that an edit names an unknown kind.
var ErrNoMedia = errors.New("there is no such kind of model")

// MediaEdit is a change of an image, speech or transcription model.
type MediaEdit struct {
	Kind    string // one of [MediaKinds]
	BaseURL string // empty is OpenAI's
	Model   string // empty switches it off
	Voice   string // for speech; empty is the default
	// Key is the provider's key; nil keeps the existing one, and an empty one deletes it.
	Key *Secret
	// Like names a chat model to copy address and key from.
	Like  string
	Judge func(address string) error // rejects a new address with an error; nil accepts all
}

// Media returns the configuration of a kind.
func (f *File) Media(kind string) (m Speech, known bool) {
	switch kind {
	case MediaImages:
		m = Speech{BaseURL: f.Images.BaseURL, APIKey: f.Images.APIKey, Model: f.Images.Model}
	case MediaSpeech:
		m = f.Speech
	case MediaTranscription:
		m = Speech{BaseURL: f.Transcription.BaseURL, APIKey: f.Transcription.APIKey, Model: f.Transcription.Model}
	default:
		return m, false
	}
	return m, true
}

// ChangeMedia writes it to DIR/settings.yaml, and the key to DIR/secrets.env. A kept key is only used for its original
// address.
func (s *Store) ChangeMedia(e MediaEdit) error {
	if !slices.Contains(MediaKinds(), e.Kind) {
		return ErrNoMedia
	}
	if err := e.check(); err != nil {
		return err
	}
	if e.Like != "" {
		m, known := s.Current().Model(e.Like)
		if !known {
			return &EditError{"like", BadValue, "there is no model of this name"}
		}
		key := m.APIKey
		e.BaseURL, e.Key = m.BaseURL, &key
	}
	return s.edit(func(d *draft) error {
		old, _ := s.Current().File.Media(e.Kind)
		moved := strings.TrimRight(old.BaseURL, "/") != strings.TrimRight(e.BaseURL, "/")
		if moved && e.Key == nil && old.APIKey != "" {
			return &EditError{"api_key", KeyElsewhere,
				"the address changes; enter the key for it, as the stored key is only used for the old address"}
		}
		if moved && e.BaseURL != "" && e.Judge != nil {
			if err := e.Judge(e.BaseURL); err != nil {
				return &EditError{"base_url", PrivateAddress, err.Error()}
			}
		}
		entry := valueOf(d.root, e.Kind)
		if entry == nil || entry.Kind != yaml.MappingNode {
			entry = &yaml.Node{Kind: yaml.MappingNode}
			d.set(e.Kind, entry)
		}
		values := map[string]string{"base_url": e.BaseURL, "model": e.Model}
		if e.Kind == MediaSpeech {
			values["voice"] = e.Voice
		}
		left := maxEditValues
		for _, key := range sorted(values) {
			n, err := valueNode(values[key], &left)
			if err != nil {
				return &EditError{key, BadValue, err.Error()}
			}
			setValue(entry, key, n)
		}
		if e.Key != nil {
			d.putKey(entry, e.Kind, e.Key.Value())
			if *e.Key == "" { // config.yaml's key must not apply to this address
				setValue(entry, "api_key", literal(""))
			}
		}
		return nil
	}, nil)
}

func (e MediaEdit) check() error {
	if e.BaseURL != "" {
		u, err := url.Parse(e.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return &EditError{"base_url", BadAddress, "an address looks like https://host/v1, without a name or password in it"}
		}
	}
	for key, text := range map[string]string{"model": e.Model, "voice": e.Voice} {
		if len(text) > 200 || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.HasPrefix(text, "$") {
			return &EditError{key, BadValue, "it must be one line of at most 200 bytes, without a leading $"}
		}
	}
	if e.Key == nil {
		return nil
	}
	text := e.Key.Value()
	if len(text) > maxKeyLength || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return &EditError{"api_key", BadKey, "a key is one line of text of at most 8 KiB"}
	}
	if _, ref := syntax.Reference(text); ref {
		return &EditError{"api_key", BadVariable, "variables are named in config.yaml"}
	}
	return nil
}
