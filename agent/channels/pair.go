package channels

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"fawn/agent/channels/chat"
	"fawn/store"
)

// CodeTime is the lifetime of a connection code.
const CodeTime = 10 * time.Minute

// openCodes limits the open codes per person and platform.
const openCodes = 5

// ErrCodes means that a person has too many codes which are not used yet.
var ErrCodes = errors.New("too many codes are open; use one, or wait until they expire")

// Code creates a code of 128 random bits that connects a chat account to owner. It works once, within 10 minutes, in a
// private chat with the bot. Errors: ErrNoBot, ErrCodes.
func (h *Hub) Code(ctx context.Context, owner, provider string) (code string, valid time.Duration, err error) {
	if _, ok := h.Status(provider); !ok {
		return "", 0, ErrNoBot
	}
	code = rand.Text()
	err = h.cfg.DB.AddChannelCode(ctx, owner, provider, hashCode(code), h.cfg.DB.Now().Add(CodeTime), openCodes)
	if errors.Is(err, store.ErrConflict) {
		err = ErrCodes
	}
	return code, CodeTime, err
}

func hashCode(code string) string {
	sum := sha256.Sum256([]byte(strings.ToUpper(strings.TrimSpace(code))))
	return hex.EncodeToString(sum[:])
}

// pair connects the sender of a valid code.
func (l *line) pair(ctx context.Context, row store.Inbound, u chat.Update, code string) error {
	b, db := l.b, l.b.h.cfg.DB
	now := time.Now()
	if u.Group {
		if err := db.BurnChannelCode(ctx, b.provider, hashCode(code)); err != nil {
			return err
		}
		return l.refuse(ctx, row, u, "code in a group", b.words(u.Sender).codeGroup)
	}
	if b.people.Guessing(now, u.Sender.ID) {
		return l.settle(ctx, row, store.InboundRefused, "too many wrong codes")
	}
	conn, err := db.Connect(ctx, hashCode(code), store.Connection{ID: uuid.Must(uuid.NewV7()).String(),
		Provider: b.provider, Account: u.Sender.ID, AccountName: u.Sender.Name, Workspace: u.Sender.Workspace,
		WorkspaceName: u.Sender.WorkspaceName})
	if errors.Is(err, store.ErrNotFound) {
		b.people.Guess(now, u.Sender.ID)
		if err := l.settle(ctx, row, store.InboundRefused, "wrong code"); err != nil {
			return err
		}
		b.say(ctx, u, b.words(u.Sender).badCode)
		return nil
	}
	if err != nil {
		return err
	}
	if err := l.connected(ctx, u, conn); err != nil { // the code is used: it cannot be tried again
		b.h.cfg.Log.Error("couldn't link a chat to a connected account", "channel", b.provider, "err", err)
	}
	if err := l.settle(ctx, row, store.InboundDone, ""); err != nil {
		return err
	}
	b.say(ctx, u, b.words(u.Sender).connected)
	return nil
}

// connected stores the chat of a newly connected account, and ends deliveries to its previous owner.
func (l *line) connected(ctx context.Context, u chat.Update, conn store.Connection) error {
	c, err := l.chat(ctx, &admitted{u: u, who: who{owner: conn.Owner, connection: conn.ID}})
	if err == nil {
		err = l.b.h.cfg.DB.PutChannelChat(ctx, c)
	}
	return errors.Join(err, l.b.h.Revoked(ctx, l.b.provider))
}
