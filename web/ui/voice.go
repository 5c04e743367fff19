package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/llm/llmerr"
	"fawn/store"
	"fawn/views/i18n"
	"fawn/views/markdown"
	"fawn/web/ui/page"
)

// Limits of reading aloud and of dictation.
const (
	maxRead      = 16 << 10 // bytes of an answer without its marks
	maxPart      = 4000     // bytes of one request
	maxDictation = 25 << 20 // bytes
	maxSound     = 32 << 20 // bytes of an answer read aloud
	maxVoices    = 4        // answers and recordings at work at a time
)

// spoken returns an answer for reading aloud: without marks and code.
func (u *UI) spoken(c echo.Context, t store.Thread) (string, error) {
	messages, err := u.messages(c, t.ID)
	if err != nil {
		return "", err
	}
	for _, m := range messages {
		if m.ID == page.Param(c, "message") && m.Type == agent.TypeAI {
			return markdown.Plain(m.Content.String(), maxRead), nil
		}
	}
	return "", store.ErrNotFound
}

// speech handles GET /ui/threads/{id}/messages/{message}/speech.
func (u *UI) speech(c echo.Context, t store.Thread) error {
	text, err := u.spoken(c, t)
	if err != nil {
		return err
	}
	if c.QueryParam("text") != "" {
		return plain(c, text)
	}
	if text == "" || u.Config.Current().File.Speech.Model == "" || u.Media.Speech == nil {
		return store.ErrNotFound
	}
	m, err := u.Media.Speech()
	if err != nil {
		return err
	}
	// Players request ranges, which must come from the same recording.
	key := t.ID + "\x00" + page.Param(c, "message") + "\x00" + m.Model() + "\x00" + u.Config.Current().File.Speech.Voice
	sound, err := u.speeches.read(c.Request().Context(), key, text, m.Speak)
	if err != nil {
		return u.unspoken(c, err)
	}
	h := c.Response().Header()
	h.Set("Content-Type", "audio/mpeg")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(sound))
	return nil
}

// speeches keeps the newest answers that were read aloud. Its zero value is ready for use.
type speeches struct {
	once  sync.Once
	slots chan struct{} // one for each answer and recording at work

	mu   sync.Mutex
	list []*speech // newest last
}

type speech struct {
	key   string
	mu    sync.Mutex // held while it is made
	sound []byte
}

// maxSpeeches limits the cached answers, of at most a few MB each.
const maxSpeeches = 8

// slot waits for a place to work, which done releases.
func (s *speeches) slot(ctx context.Context) (done func(), err error) {
	s.once.Do(func() { s.slots = make(chan struct{}, maxVoices) })
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// read returns a text read aloud, from memory if it was made lately. Several callers wait for one making.
func (s *speeches) read(ctx context.Context, key, text string,
	speak func(ctx context.Context, text, voice string) ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	i := slices.IndexFunc(s.list, func(one *speech) bool { return one.key == key })
	if i < 0 {
		s.list = append(s.list, &speech{key: key})
		s.list = s.list[max(len(s.list)-maxSpeeches, 0):]
		i = len(s.list) - 1
	}
	one := s.list[i]
	s.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.sound != nil {
		return one.sound, nil
	}
	done, err := s.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var sound []byte
	for text != "" {
		part := text
		if len(part) > maxPart {
			part = text[:strings.LastIndexByte(text[:maxPart], ' ')+1]
			if part == "" {
				part = strings.ToValidUTF8(text[:maxPart], "")
			}
		}
		text = text[len(part):]
		data, err := speak(ctx, part, "")
		if err != nil {
			return nil, err
		}
		if sound = append(sound, data...); len(sound) > maxSound {
			return nil, &llmerr.Error{Class: llmerr.ClassInvalid, Message: "the recording is too long"}
		}
	}
	one.sound = sound
	return sound, nil
}

// unspoken responds after a model's failure: the page reports it, the log has the reason.
func (u *UI) unspoken(c echo.Context, err error) error {
	var failed *llmerr.Error
	if !errors.As(err, &failed) {
		return err
	}
	u.Log.Warn("speech model failed", "err", failed)
	return c.JSON(http.StatusBadGateway, map[string]string{"error": failed.Error()})
}

// transcribe handles POST /ui/transcribe: the text of a recording.
func (u *UI) transcribe(c echo.Context) error {
	ctx := c.Request().Context()
	said := func(status int, key string) error {
		return c.JSON(status, map[string]string{"error": i18n.C(ctx, key)})
	}
	if u.Config.Current().File.Transcription.Model == "" || u.Media.Transcription == nil {
		return said(http.StatusNotFound, "voice.off")
	}
	done, err := u.speeches.slot(ctx)
	if err != nil {
		return err
	}
	defer done()
	c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, maxDictation)
	file, header, err := c.Request().FormFile("audio")
	if err != nil {
		return said(http.StatusBadRequest, "voice.failed")
	}
	defer file.Close()
	m, err := u.Media.Transcription()
	if err != nil {
		return err
	}
	language, _, _ := strings.Cut(c.Request().FormValue("lang"), "-")
	text, err := m.Transcribe(ctx, header.Filename, io.LimitReader(file, maxDictation), language)
	switch {
	case err != nil:
		return u.unspoken(c, err)
	case text == "":
		return said(http.StatusOK, "voice.silence")
	}
	return c.JSON(http.StatusOK, map[string]string{"text": text})
}
