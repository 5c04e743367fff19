package channels

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"fawn/agent"
	"fawn/agent/channels/chat"
	"fawn/store"
)

// Destination is a chat that an answer is sent to when it's complete.
type Destination struct {
	Provider string `json:"provider"`
	Chat     string `json:"chat"`
	Topic    string `json:"topic,omitempty"`
}

// ParseDestination parses the form of [Destination.String]; ok is false for "".
func ParseDestination(text string) (d Destination, ok bool) {
	return d, text != "" && json.Unmarshal([]byte(text), &d) == nil && d.Provider != ""
}

// String returns the form that is stored.
func (d Destination) String() string {
	raw, err := agent.Encode(d)
	if err != nil { // three strings always encode
		return ""
	}
	return string(raw)
}

// Offer is a chat that answers can be sent to.
type Offer struct {
	Destination
	App   string // its name
	Name  string // name of the person or the group
	Group bool
}

// mostOffers limits the chats considered.
const mostOffers = 500

// Offers returns the chats an owner may send answers to: private chats of their connected accounts, and groups they let
// a bot into. Chats of stopped bots are left out.
func (h *Hub) Offers(ctx context.Context, owner string) ([]Offer, error) {
	h.mu.Lock()
	none := len(h.bots) == 0
	h.mu.Unlock()
	if none {
		return nil, nil
	}
	list, err := h.cfg.DB.ChatsToTell(ctx, owner, mostOffers)
	var out []Offer
	for _, c := range list {
		b := h.bot(c.Provider)
		if b == nil {
			continue
		}
		ok, err := h.reaches(ctx, owner, c)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, Offer{Destination{Provider: c.Provider, Chat: c.Chat}, b.conf().Name,
				cmp.Or(c.Name, c.Chat), c.Kind == kindGroup})
		}
	}
	return out, err
}

// Find returns the offer of a chat; ok is false when an owner may not have answers sent there.
func (h *Hub) Find(ctx context.Context, owner string, d Destination) (o Offer, ok bool, err error) {
	b := h.bot(d.Provider)
	if b == nil {
		return o, false, nil
	}
	c, err := h.cfg.DB.ChannelChat(ctx, d.Provider, d.Chat, "")
	if missing(err) {
		return o, false, nil
	}
	if err == nil && d.Topic != "" {
		ok, err = h.topic(ctx, c, d.Topic)
	} else {
		ok = err == nil
	}
	if !ok || err != nil {
		return o, false, err
	}
	ok, err = h.reaches(ctx, owner, c)
	return Offer{d, b.conf().Name, cmp.Or(c.Name, c.Chat), c.Kind == kindGroup}, ok, err
}

// topic reports whether a chat has a topic.
func (h *Hub) topic(ctx context.Context, c store.ChannelChat, topic string) (bool, error) {
	t, err := h.cfg.DB.ChannelChat(ctx, c.Provider, c.Chat, topic)
	if missing(err) {
		return false, nil
	}
	return err == nil && t.Alias == "" && t.Kind == kindGroup, err
}

// reaches reports whether an owner may send answers to a chat, given the chat's own row.
func (h *Hub) reaches(ctx context.Context, owner string, c store.ChannelChat) (bool, error) {
	own := settingsOf(c)
	person := chat.Person{ID: cmp.Or(own.Account, c.Chat), Workspace: own.Workspace}
	if c.Kind == kindGroup {
		switch c.EnabledBy {
		case "":
			return false, nil
		case owner: // in the browser
			return true, nil
		}
		person.ID = c.EnabledBy
	}
	return h.owns(ctx, c.Provider, owner, person)
}

// owns reports whether a person on a platform belongs to an owner.
func (h *Hub) owns(ctx context.Context, provider, owner string, p chat.Person) (bool, error) {
	c, err := h.cfg.DB.ConnectionOf(ctx, provider, p.ID, p.Workspace)
	if err == nil || !missing(err) {
		return c.Owner == owner, err
	}
	b := h.bot(provider)
	return b != nil && owner == store.DefaultOwner && !h.current().RequireBound &&
		slices.Contains(b.conf().Allowed, p.ID), nil
}

// Result is sent to a chat when a run has ended.
type Result struct {
	Owner  string
	Thread string
	Task   string // its title is shown above the answer; empty for an answer in a conversation
	Failed string // reason why its run did not start
}

// Plan returns the first message to a chat, to be stored together with the run. If sending isn't allowed, the message
// is stored as failed. Its Run is empty.
func (h *Hub) Plan(ctx context.Context, d Destination, r Result) (store.Outbound, error) {
	to := target{To: chat.Address{Chat: d.Chat, Topic: d.Topic}, Thread: r.Thread, Whole: true, Owner: r.Owner,
		Title: agent.Head(r.Task, longestTitle), Failed: agent.Head(r.Failed, longestFailure)}
	o := store.Outbound{Piece: "0", Provider: d.Provider, Chat: d.Chat, Topic: d.Topic, State: store.OutboundPlanned,
		At: h.cfg.DB.Now()}
	c, err := h.cfg.DB.ChannelChat(ctx, d.Provider, d.Chat, "")
	if err != nil && !missing(err) {
		return o, err
	}
	to.To.Group = c.Kind == kindGroup
	ok := false
	if err == nil {
		if ok, err = h.reaches(ctx, r.Owner, c); err != nil {
			return o, err
		}
	}
	if !ok {
		o.State, o.Error = store.OutboundFailed, NotConnected
	}
	if o.Place, err = agent.Encode(to); err != nil {
		return o, fmt.Errorf("where to send a result: %w", err)
	}
	return o, nil
}

const (
	longestTitle   = 200 // bytes
	longestFailure = 300
)

// NotConnected is the reason for not sending to the chat of a disconnected account, or to a group the owner can't
// manage.
const NotConnected = "this chat is no longer connected"

// Kinds of a store.ChannelChat.
const (
	kindPrivate = "private"
	kindGroup   = "group"
	kindResult  = "delivered" // kind of a message that delivered a result
)

// ResultState is the delivery state of an answer.
type ResultState string

// The states.
const (
	ResultWaits   ResultState = "waiting" // for its run, or for the platform
	ResultSent    ResultState = "sent"
	ResultFailed  ResultState = "failed"
	ResultUnknown ResultState = "unknown" // a part of it may be missing
)

// Trouble returns the reason why a message wasn't sent, or not yet; the zero value for none.
func Trouble(o store.Outbound) chat.Trouble {
	if o.Error == NotConnected {
		return chat.Trouble{Cause: chat.Disconnected, Text: NotConnected}
	}
	return chat.ParseTrouble(o.Error)
}

// StateOf returns the delivery state of an answer's messages, and the reason if a part is missing.
func StateOf(rows []store.Outbound) (state ResultState, why chat.Trouble) {
	state = ResultSent
	for _, o := range rows {
		switch o.State {
		case store.OutboundPlanned, store.OutboundSending, store.OutboundOpen:
			return ResultWaits, Trouble(o)
		case store.OutboundFailed:
			state, why = ResultFailed, Trouble(o)
		case store.OutboundUnknown:
			if state == ResultSent {
				state = ResultUnknown
			}
		}
	}
	return state, why
}

// Deliver sends the result of an ended run, if that was planned. If the bot isn't ready, it sends the result as soon as
// it is.
func (h *Hub) Deliver(ctx context.Context, run string) error {
	rows, err := h.cfg.DB.Outbound(ctx, run)
	if err != nil || len(rows) == 0 || rows[0].State != store.OutboundPlanned {
		return err
	}
	if b := h.bot(rows[0].Provider); b != nil && b.channel() != nil {
		b.deliver(rows[0], false)
	}
	return nil
}
