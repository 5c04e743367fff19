package ui

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
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
)

// spoken is an answer as it is read aloud: without marks, and without the code in it.
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

// speech is GET /ui/threads/{id}/messages/{message}/speech.
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
		data, err := m.Speak(c.Request().Context(), part, "")
		if err != nil {
			return u.unspoken(c, err)
		}
		sound = append(sound, data...)
	}
	h := c.Response().Header()
	h.Set("Content-Type", "audio/mpeg")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(sound))
	return nil
}

// unspoken answers for a model that failed: the page says so, the log why.
func (u *UI) unspoken(c echo.Context, err error) error {
	var failed *llmerr.Error
	if !errors.As(err, &failed) {
		return err
	}
	u.Log.Warn("speech model failed", "err", failed)
	return c.JSON(http.StatusBadGateway, map[string]string{"error": failed.Error()})
}

// transcribe is POST /ui/transcribe: the text of a recording.
func (u *UI) transcribe(c echo.Context) error {
	ctx := c.Request().Context()
	said := func(status int, key string) error {
		return c.JSON(status, map[string]string{"error": i18n.C(ctx, key)})
	}
	if u.Config.Current().File.Transcription.Model == "" || u.Media.Transcription == nil {
		return said(http.StatusNotFound, "voice.off")
	}
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
