package channels

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// An answer uses at most mostPieces messages. A longer one is reduced to its beginning and a file; that is known only
// at its end, so no more than the beginning is shown while it grows.
const (
	mostPieces = 10
	beginning  = 2
)

// view is the state of an answer at one time.
type view struct {
	solid, doing, ending string
	files                []string
	cut                  int
	cursor               int64
	final                bool
}

// split keeps the pieces of a text that grows.
type split struct {
	cut   int // end of the piece in the answer
	fixed []string
	off   int // bytes of the text in fixed
	fence string
}

// pieces splits a text into messages. All but the last stay the same unless shown text is retracted.
func (s *split) pieces(text string, cut int, l chat.Limits) []string {
	if cut != s.cut || s.off > len(text) {
		*s = split{cut: cut}
	}
	for {
		p := chat.NextPiece(text[s.off:], s.fence, l)
		if s.off+p.Bytes >= len(text) || p.Bytes == 0 {
			return append(s.fixed[:len(s.fixed):len(s.fixed)], p.Text)
		}
		s.fixed = append(s.fixed, p.Text)
		s.off += p.Bytes
		s.fence = p.Fence
	}
}

// write sends and edits messages that differ from the view. It returns the delay until the next edit.
func (d *delivery) write(ctx context.Context, v view) (time.Duration, error) {
	limits := d.b.channel().Limits()
	if !v.final && !limits.CanEdit {
		return 0, nil
	}
	text := v.solid
	var files []posting
	if v.final {
		files, text = d.files(v, text)
		if text == "" && len(files) == 0 && v.ending == "" {
			text = d.words().noText
		}
		text = d.titled(join(d.note, text), v)
	}
	all := d.text.pieces(text, v.cut, limits)
	switch {
	case !v.final && len(all) > beginning:
		all = append(all[:beginning], d.words().moreComes)
	case len(all) > mostPieces:
		all = append(all[:beginning], summary(text, limits, d.words()))
		files = append(files, whole(text))
	}
	if last := len(all) - 1; !v.final && last < beginning {
		if more := join(all[last], v.doing); limits.Count(more) <= limits.Max {
			all[last] = more
		}
	}
	for i, piece := range all {
		if strings.TrimSpace(piece) == "" {
			if v.final && i > 0 {
				continue
			}
			piece = placeholder
			if v.final { // there are files only
				piece = d.words().filesOnly
			}
		}
		if wait, err := d.show(ctx, strconv.Itoa(i), piece, v, limits); wait > 0 || err != nil {
			return wait, err
		}
	}
	if !v.final {
		return 0, nil
	}
	if err := d.blank(ctx, len(all), limits); err != nil {
		return 0, err
	}
	return 0, d.post(ctx, files, limits)
}

func join(text, more string) string {
	if text == "" || more == "" {
		return text + more
	}
	return strings.TrimRight(text, "\n") + "\n\n" + more
}

// row returns the row of a piece, a new one if there is none.
func (d *delivery) row(piece string) *store.Outbound {
	row := d.rows[piece]
	if row == nil {
		row = &store.Outbound{Run: d.run, Piece: piece, Provider: d.b.provider, Chat: d.at.chat, Topic: d.at.topic,
			State: store.OutboundPlanned, At: d.b.h.cfg.DB.Now()}
		d.rows[piece] = row
	}
	return row
}

// show makes a message contain a text. It is created as a placeholder, since a duplicate is then invisible, and gets
// its text by an edit, which may be repeated.
func (d *delivery) show(ctx context.Context, piece, text string, v view, l chat.Limits) (time.Duration, error) {
	row := d.row(piece)
	h := hash(text)
	if l.Ends && v.final {
		h = hash(text + "\nthat is all")
	}
	if row.Message != "" && row.Hash == h || row.State == store.OutboundUnknown || row.State == store.OutboundDone {
		return 0, nil
	}
	if row.Message == "" && d.stays {
		return 0, d.stay(ctx, row, text, v, l)
	}
	if row.Message == "" {
		err := d.create(ctx, row, text, v.cursor, l)
		var stays *chat.Stays
		if errors.As(err, &stays) && !d.stays {
			d.staying(stays)
			return 0, d.stay(ctx, row, text, v, l)
		}
		if err != nil || row.Hash == h || row.State == store.OutboundUnknown {
			return 0, err
		}
	}
	if !l.CanEdit {
		return 0, nil
	}
	if text == placeholder {
		return 0, nil
	}
	if wait := d.next(row, v.final); wait > 0 {
		return wait, nil
	}
	err := d.call(ctx, "edit", func(ctx context.Context) error {
		return d.b.channel().Edit(ctx, chat.Ref{Address: d.to.To, Message: row.Message},
			chat.Post{Text: text, ReplyTo: d.to.Reply, Grows: true, Final: v.final})
	})
	var gone *chat.Gone
	if errors.As(err, &gone) && gone.Message { // the message was deleted: send a new one
		row.Message, row.Hash, row.State = "", "", store.OutboundPlanned
		return 0, errors.Join(errors.New("a message was deleted"), d.put(ctx, row))
	}
	var stays *chat.Stays
	if errors.As(err, &stays) {
		d.staying(stays)
		row.Message, row.Hash, row.State = "", "", store.OutboundPlanned
		if err := d.put(ctx, row); err != nil {
			return 0, err
		}
		return 0, d.stay(ctx, row, text, v, l)
	}
	if err != nil {
		return 0, err
	}
	d.edited = time.Now()
	row.Hash, row.Cursor, row.State, row.Error = h, v.cursor, store.OutboundOpen, ""
	if v.final { // stored with the end of the answer; until then the edit may be repeated
		return 0, nil
	}
	return 0, d.put(ctx, row)
}

// next returns the delay before the next edit. The first text may come at once, and the last waits for the platform
// only. In between, edits get rarer the longer a run works, because all chats of a bot share the platform's limit.
func (d *delivery) next(row *store.Outbound, final bool) time.Duration {
	if row.Hash == "" {
		return 0
	}
	if d.slow > 0 && time.Since(d.rated) > calmAfter {
		d.slow = 0
	}
	every := max(d.slow, d.every())
	if d.grows.IsZero() {
		d.grows = d.edited
	}
	if !final {
		every = max(every, min(d.edited.Sub(d.grows)/unhurried, slowest))
	}
	return time.Until(d.edited.Add(every))
}

// create sends a new message.
func (d *delivery) create(ctx context.Context, row *store.Outbound, text string, cursor int64, l chat.Limits) error {
	again := row.State == store.OutboundSending
	if again && (!l.Keyed && !l.CanEdit || row.Hash != "") { // a hash means it was sent with its text
		row.State = store.OutboundUnknown
		return d.put(ctx, row)
	}
	body := text
	if l.CanEdit && !l.Keyed {
		body = placeholder
	}
	// A first placeholder may be sent twice, so it isn't worth a write; its row is stored as planned. With a key the
	// platform returns the earlier message, and the next server must know that it may lack the text.
	planned := body == placeholder && row.State == store.OutboundPlanned && row.Piece == "0" && !l.Keyed
	row.State = store.OutboundSending
	if !planned {
		if err := d.put(ctx, row); err != nil {
			return err
		}
	}
	post := chat.Post{Text: body, Key: keyOf(row), ReplyTo: d.to.Reply, Grows: l.CanEdit}
	if row.Piece != "0" {
		post.ReplyTo = ""
	}
	var ref chat.Ref
	err := d.call(ctx, "send", func(ctx context.Context) (err error) {
		ref, err = d.b.channel().Send(ctx, d.to.To, post)
		return err
	})
	if err != nil {
		if chat.Unsent(err) {
			row.State, row.Hash = store.OutboundPlanned, ""
			return errors.Join(err, d.put(ctx, row))
		}
		return err
	}
	row.Message, row.State, row.Error = ref.Message, store.OutboundOpen, ""
	if row.Hash = ""; body == text && !again {
		row.Hash, row.Cursor = hash(text), cursor
		d.edited = time.Now()
	}
	return d.put(ctx, row, d.alias(ref.Message)...)
}

// keyOf returns the key that a message is sent with. It depends only on stored data, so the next server uses the same
// one; an answer that is sent again gets new keys.
func keyOf(row *store.Outbound) string {
	return key("out", row.Run+"/"+row.Piece+"/"+strconv.FormatInt(row.At.UnixMilli(), 10))
}

// staying delays messages until the whole answer is known.
func (d *delivery) staying(why *chat.Stays) {
	d.stays = true
	d.b.h.cfg.Log.Warn("couldn't update a streamed answer", "channel", d.b.provider, "run", d.run,
		"reason", why.Reason)
}

// stay sends a piece of an answer once it is complete, as a message that can't be edited. Like any such message it
// isn't repeated if the outcome is unknown; a hash without a message marks that case.
func (d *delivery) stay(ctx context.Context, row *store.Outbound, text string, v view, l chat.Limits) error {
	if !v.final {
		return nil
	}
	l.CanEdit = false
	if row.State != store.OutboundSending || row.Hash == "" {
		row.State, row.Hash = store.OutboundPlanned, hash(text)
	}
	err := d.create(ctx, row, text, v.cursor, l)
	if err != nil || row.Message == "" {
		return err
	}
	row.State = store.OutboundDone
	return d.put(ctx, row)
}

// alias makes replies to a message of the bot belong to its topic.
func (d *delivery) alias(message string) []store.ChannelChat {
	if d.to.Whole {
		return d.remembered(message)
	}
	if !d.to.To.Group || d.at.topic == "" || message == "" || message == d.at.topic {
		return nil
	}
	return []store.ChannelChat{{Provider: d.b.provider, Chat: d.at.chat, Topic: message, Alias: d.at.topic,
		Thread: d.to.Thread, Kind: "group"}}
}

// blank empties surplus messages of an answer whose shown text was retracted.
func (d *delivery) blank(ctx context.Context, from int, l chat.Limits) error {
	for i := from; l.CanEdit; i++ {
		row := d.rows[strconv.Itoa(i)]
		if row == nil {
			return nil
		}
		if row.Message == "" || row.Hash == hash(placeholder) {
			continue
		}
		err := d.call(ctx, "edit", func(ctx context.Context) error {
			return d.b.channel().Edit(ctx, chat.Ref{Address: d.to.To, Message: row.Message},
				chat.Post{Text: placeholder, Grows: true, Final: true})
		})
		var gone *chat.Gone
		if err != nil && !(errors.As(err, &gone) && gone.Message) {
			return err
		}
		row.Hash = hash(placeholder)
		if err := d.put(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// call makes a call when the rate limit allows it.
func (d *delivery) call(ctx context.Context, name string, do func(context.Context) error) error {
	if err := d.b.pace.Wait(ctx, d.to.To); err != nil {
		return err
	}
	err := do(d.b.calls)
	d.b.h.cfg.Observer.Call(d.b.provider, name, outcomeOf(err))
	if err == nil {
		d.b.sent()
	}
	return err
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
