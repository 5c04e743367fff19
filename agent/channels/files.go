package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"strconv"
	"strings"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// posting is a file to send.
type posting struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

// files returns the files to send; the text mentions those that can't be sent.
func (d *delivery) files(v view, text string) ([]posting, string) {
	cfg := &d.b.h.cfg
	if cfg.Open == nil || v.ending != "" {
		return nil, text
	}
	most := d.b.channel().Limits().MaxFile
	var out []posting
	for _, p := range v.files {
		open := func() (io.ReadCloser, error) {
			f, _, err := cfg.Open(d.to.Thread, p)
			return f, err
		}
		f, size, err := cfg.Open(d.to.Thread, p)
		if err != nil {
			continue // deleted again
		}
		f.Close()
		if size > most {
			text = join(text, fmt.Sprintf(d.words().tooLarge, path.Base(p)))
			continue
		}
		out = append(out, posting{path.Base(p), size, open})
	}
	return out, text
}

// mostParts limits the headings of a long answer that are listed.
const mostParts = 15

// summary replaces the rest of a long answer: its headings, if it has any.
func summary(text string, l chat.Limits, say words) string {
	parts := chat.Headings(text)
	if len(parts) < 2 {
		return say.cutShort
	}
	var b strings.Builder
	b.WriteString(say.inTheFile + "\n")
	for i, one := range parts {
		more := "\n- " + escape(one)
		if i == mostParts || l.Count(b.String()+more+"\n- …") > l.Max {
			b.WriteString("\n- …")
			break
		}
		b.WriteString(more)
	}
	return b.String()
}

// whole returns an answer as a file.
func whole(text string) posting {
	return posting{"answer.md", int64(len(text)), func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// post sends files. A file that may have been sent before a crash isn't sent again.
func (d *delivery) post(ctx context.Context, files []posting, l chat.Limits) error {
	at, attaches := d.b.channel().(chat.Attacher)
	for i, f := range files {
		row := d.row("f" + strconv.Itoa(i))
		if attaches {
			if err := d.attach(ctx, at, row, f, l); err != nil {
				return err
			}
			continue
		}
		if row.State != store.OutboundPlanned && !(row.State == store.OutboundSending && l.Keyed) {
			if row.State == store.OutboundSending && row.Tries == 0 {
				row.State = store.OutboundUnknown
				if err := d.put(ctx, row); err != nil {
					return err
				}
			}
			if row.State != store.OutboundSending {
				continue
			}
		}
		row.State, row.Tries = store.OutboundSending, 0
		if err := d.put(ctx, row); err != nil {
			return err
		}
		var ref chat.Ref
		err := d.call(ctx, "upload", func(ctx context.Context) (err error) {
			ref, err = d.b.channel().Upload(ctx, d.to.To, f.file(d.to.Reply, l), keyOf(row))
			return err
		})
		if err != nil {
			var never *chat.Refused
			if errors.As(err, &never) { // the others can still be sent
				row.State, row.Error = store.OutboundFailed, chat.TroubleOf(never).String()
				if err := d.put(ctx, row); err != nil {
					return err
				}
				continue
			}
			if chat.Unsent(err) { // it was certainly not sent
				row.State = store.OutboundPlanned
				return errors.Join(err, d.put(ctx, row))
			}
			row.Tries = 1
			return err
		}
		row.Message, row.State = ref.Message, store.OutboundDone
		if err := d.put(ctx, row, d.alias(ref.Message)...); err != nil {
			return err
		}
	}
	return nil
}

// file converts a file to the platform's input.
func (p posting) file(reply string, l chat.Limits) chat.File {
	kind := mime.TypeByExtension(path.Ext(p.name))
	return chat.File{Name: p.name, Type: kind, Size: p.size, ReplyTo: reply, Open: p.open,
		Image: strings.HasPrefix(kind, "image/") && kind != "image/svg+xml" && p.size <= l.MaxImage}
}

// attach sends a file like text: as a placeholder that an edit replaces with the file, which may be repeated.
func (d *delivery) attach(ctx context.Context, to chat.Attacher, row *store.Outbound, f posting, l chat.Limits) error {
	if row.State == store.OutboundDone || row.State == store.OutboundFailed || row.State == store.OutboundUnknown {
		return nil
	}
	if row.Message == "" {
		if err := d.create(ctx, row, placeholder, 0, l); err != nil || row.Message == "" {
			return err
		}
	}
	ref := chat.Ref{Address: d.to.To, Message: row.Message}
	err := d.call(ctx, "upload", func(ctx context.Context) error { return to.Attach(ctx, ref, f.file("", l)) })
	var gone *chat.Gone
	var never *chat.Refused
	switch {
	case errors.As(err, &gone) && gone.Message: // the message was deleted: send a new one
		row.Message, row.Hash, row.State = "", "", store.OutboundPlanned
		return errors.Join(errors.New("a message was deleted"), d.put(ctx, row))
	case errors.As(err, &never): // the others can still be sent
		row.State, row.Error = store.OutboundFailed, chat.TroubleOf(never).String()
		text := fmt.Sprintf(d.words().notSent, f.name)
		err = d.call(ctx, "edit", func(ctx context.Context) error {
			return d.b.channel().Edit(ctx, ref, chat.Post{Text: text, Plain: true})
		})
		if err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		row.State = store.OutboundDone
	}
	return d.put(ctx, row)
}
