package takeout

import (
	"context"
	"errors"
	"strings"
)

// Limits of a conversation in elements. A list of 3 bytes per element takes much more when decoded.
const (
	maxNodes    = 20_000    // limit per list or object: a conversation's messages are one
	maxFiles    = 100       // limit per message
	maxElements = 1_000_000 // of all lists and objects together
)

var errTooMany = errors.New("a conversation has too many messages or files")

// count checks the bounds of elements in raw, which is valid JSON.
func count(ctx context.Context, raw []byte) error {
	type level struct{ n, limit int }
	var levels []level
	var text, key []byte
	total := 0
	for i := 0; i < len(raw); i++ {
		if i&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch raw[i] {
		case '"':
			from := i + 1
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			text = raw[from:min(i, len(raw))]
		case ':':
			key = text
		case '{', '[':
			limit := maxNodes
			if raw[i] == '[' && len(key) < 20 &&
				(strings.EqualFold(string(key), "files") || strings.EqualFold(string(key), "attachments")) {
				limit = maxFiles
			}
			levels, key = append(levels, level{1, limit}), nil
		case '}', ']':
			levels, key = levels[:max(len(levels)-1, 0)], nil
		case ',':
			key = nil
			if len(levels) == 0 {
				continue
			}
			top := &levels[len(levels)-1]
			top.n, total = top.n+1, total+1
			if top.n > top.limit || total > maxElements {
				return errTooMany
			}
		}
	}
	return nil
}
