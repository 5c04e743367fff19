package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Upload posts a document, or a photo.
func (t *Telegram) Upload(ctx context.Context, to Address, f File, _ string) (Ref, error) {
	var m telegramMessage
	err := t.asPhoto(f, func(kind string) error {
		target := telegramTarget(to)
		telegramReplyTo(target, f.ReplyTo)
		return t.upload(ctx, "send"+strings.ToUpper(kind[:1])+kind[1:], kind, target, f, &m)
	})
	if err != nil {
		return Ref{}, err
	}
	return Ref{to, strconv.FormatInt(m.ID, 10)}, nil
}

// Attach adds a document or photo to a message.
func (t *Telegram) Attach(ctx context.Context, at Ref, f File) error {
	id, err := strconv.ParseInt(at.Message, 10, 64)
	if err != nil {
		return &Gone{Message: true, Reason: "no message of Telegram's: " + at.Message}
	}
	return t.asPhoto(f, func(kind string) error {
		target := telegramTarget(at.Address)
		delete(target, "message_thread_id")
		target["message_id"], target["media"] = id, map[string]string{"type": kind, "media": "attach://file"}
		return t.upload(ctx, "editMessageMedia", "file", target, f, nil)
	})
}

// asPhoto sends an image as a photo, or as a document if Telegram refuses it, for instance because it is too wide.
func (t *Telegram) asPhoto(f File, send func(kind string) error) error {
	if !f.Image || f.Size > t.Limits().MaxImage {
		return send("document")
	}
	err := send("photo")
	if _, refused := errors.AsType[*Refused](err); refused {
		return send("document")
	}
	return err
}

func (t *Telegram) upload(ctx context.Context, method, part string, target map[string]any, f File, into any) error {
	var fields [][2]string
	for k, v := range target {
		text, plain := v.(string)
		if !plain {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			text = string(b)
		}
		fields = append(fields, [2]string{k, text})
	}
	body, kind, size, err := form(fields, part, f)
	if err != nil {
		return err
	}
	defer body.Close()
	return t.do(ctx, call{op: method, raw: body, kind: kind, size: size, limit: transferFor}, into)
}
