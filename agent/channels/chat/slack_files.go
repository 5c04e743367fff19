package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Upload sends the bytes first and posts them then.
func (s *Slack) Upload(ctx context.Context, to Address, f File, _ string) (Ref, error) {
	var at struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	values := url.Values{"filename": {f.Name}, "length": {strconv.FormatInt(f.Size, 10)}}
	if err := s.form(ctx, "files.getUploadURLExternal", values, &at); err != nil {
		return Ref{}, err
	}
	if err := s.c.ownHost(at.URL); err != nil {
		return Ref{}, fmt.Errorf("upload: %w", err)
	}
	src, err := f.Open()
	if err != nil {
		return Ref{}, fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer src.Close()
	resp, err := s.c.open(ctx, call{op: "upload", method: http.MethodPost, path: at.URL,
		raw: io.LimitReader(src, f.Size), size: f.Size, kind: "application/octet-stream"})
	if err != nil {
		return Ref{}, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return Ref{}, &statusError{op: "upload", Status: resp.StatusCode}
	}
	list, err := json.Marshal([]map[string]string{{"id": at.ID, "title": f.Name}})
	if err != nil {
		return Ref{}, err
	}
	values = url.Values{"files": {string(list)}, "channel_id": {to.Chat}}
	if to.Topic != "" {
		values.Set("thread_ts", to.Topic)
	}
	if err := s.form(ctx, "files.completeUploadExternal", values, nil); err != nil {
		return Ref{}, err
	}
	return Ref{to, cmp.Or(s.shared(ctx, at.ID, to.Chat), "file:"+at.ID)}, nil
}

// shared returns the message that contains a file, or "" if Slack doesn't report it yet: it does a moment after the
// upload.
func (s *Slack) shared(ctx context.Context, file, chat string) string {
	for range 3 {
		var info struct {
			File struct {
				Shares map[string]map[string][]struct {
					TS string `json:"ts"`
				} `json:"shares"`
			} `json:"file"`
		}
		if s.get(ctx, "files.info?file="+url.QueryEscape(file), &info) != nil {
			return ""
		}
		for _, in := range info.File.Shares {
			if list := in[chat]; len(list) > 0 {
				return list[0].TS
			}
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}

// Fetch downloads a file, with the bot's token.
func (s *Slack) Fetch(ctx context.Context, f FileRef, w io.Writer) error {
	var info struct {
		File struct {
			URL      string `json:"url_private"`
			Download string `json:"url_private_download"`
		} `json:"file"`
	}
	if err := s.get(ctx, "files.info?file="+url.QueryEscape(f.ID), &info); err != nil {
		return err
	}
	return s.c.download(ctx, "download", cmp.Or(info.File.Download, info.File.URL), bearer(s.cfg.BotToken), w)
}
