package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fawn/agent"
	"fawn/agent/channels/chat"
	"fawn/agent/middleware"
	"fawn/agent/runs"
	"fawn/store"
)

// command is a message that begins with a slash.
type command struct {
	name, arg string
	now       bool // skips the queue
	turn      bool // becomes a turn
}

// parseCommand reads "/name@bot argument".
func parseCommand(text string) (command, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return command{}, false
	}
	name, arg := rest, ""
	if i := strings.IndexAny(rest, " \n\t"); i >= 0 {
		name, arg = rest[:i], rest[i:]
	}
	name, _, _ = strings.Cut(name, "@")
	if name == "" || strings.Contains(name, "/") { // for example a path
		return command{}, false
	}
	return command{name: strings.ToLower(name), arg: strings.TrimSpace(arg)}, true
}

// known reports how a command is carried out. Skill commands, and words that only look like commands, go to the agent.
func (b *bot) known(c command) command {
	if c.name == "model" {
		c.name = "models"
	}
	switch c.name {
	case "stop", "status", "help", "models", "memory", "link", "again", "allow", "start":
		c.now = true
	case "new", "goal":
	case "bootstrap":
		c.turn = true
	default:
		if skill := b.h.cfg.Skill; skill != nil && skill(c.name) {
			return command{}
		}
		c.name, c.now = "help", true
	}
	return c
}

// personal reports whether a command concerns the account the bot answers for.
func personal(c command) bool {
	switch c.name {
	case "memory", "goal", "bootstrap", "link":
		return true
	}
	return false
}

// obey carries out a command that isn't a turn. The message is marked as handled before the answer is sent.
func (l *line) obey(ctx context.Context, a *admitted) error {
	text, err := l.carryOut(ctx, a)
	if err != nil {
		return err
	}
	if err := l.settle(ctx, a.row, store.InboundDone, ""); err != nil {
		return err
	}
	if text != "" {
		l.b.say(ctx, a.u, text)
	}
	return nil
}

func (l *line) carryOut(ctx context.Context, a *admitted) (string, error) {
	cfg, say := &l.b.h.cfg, l.b.words(a.u.Sender)
	c, err := l.chat(ctx, a)
	if err != nil {
		return "", err
	}
	switch a.cmd.name {
	case "new":
		c.Thread = ""
		return say.fresh, cfg.DB.PutChannelChat(ctx, c)
	case "stop":
		return l.stop(ctx, c.Thread, say)
	case "status":
		return l.status(ctx, c, say)
	case "again":
		return "", l.again(ctx, a)
	case "link":
		web := l.b.h.current().Web
		if web == "" || c.Thread == "" {
			return say.noWeb, nil
		}
		return web + "/workspace/chats/" + c.Thread, nil
	case "models":
		return l.models(ctx, c, a, say)
	case "memory":
		if cfg.Facts == nil {
			return "0", nil
		}
		n, err := cfg.Facts(ctx, a.who.owner)
		return fmt.Sprintf(say.facts, n), err
	case "goal":
		return l.goal(ctx, c, a.cmd.arg, say)
	}
	return say.help, nil
}

// stopWord reports whether a message is a request to stop. It counts only while a run is active.
func stopWord(text string) bool {
	switch strings.ToLower(strings.Trim(text, " \t\r\n.!。！…~")) {
	case "stop", "stopp", "stop it", "cancel", "abbrechen", "停", "停止", "停下", "停一下", "取消", "стоп", "やめて", "중지":
		return true
	}
	return false
}

// reacted stops the run whose answer got a stop reaction. Reactions to other messages stop nothing.
func (l *line) reacted(ctx context.Context, a *admitted) error {
	c, err := l.chat(ctx, a)
	if err != nil {
		return err
	}
	rt := l.b.h.cfg.Runs
	if run := rt.Active(c.Thread); c.Thread != "" && run != "" {
		rows, err := l.b.h.cfg.DB.Outbound(ctx, run)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(rows, func(o store.Outbound) bool { return o.Message == a.u.Message }) {
			if err := rt.CancelAll(ctx, c.Thread); err != nil {
				return err
			}
		}
	}
	return l.settle(ctx, a.row, store.InboundDone, "")
}

// chat returns the row of a line's chat and topic, new if there is none.
func (l *line) chat(ctx context.Context, a *admitted) (store.ChannelChat, error) {
	c, err := l.b.h.cfg.DB.ChannelChat(ctx, l.b.provider, l.at.chat, l.at.topic)
	if missing(err) {
		c = store.ChannelChat{Provider: l.b.provider, Chat: l.at.chat, Topic: l.at.topic}
		err = nil
	}
	if c.Owner != a.who.owner || c.Kind == kindResult { // don't continue another person's thread
		c.Owner, c.Thread, c.Alias = a.who.owner, "", ""
	}
	if a.thread != "" {
		c.Thread = a.thread
	}
	c.Kind, c.Name = kindPrivate, a.u.Sender.Name
	if a.u.Group {
		c.Kind, c.Name = kindGroup, a.u.ChatName
		return c, err
	}
	own := settingsOf(c)
	if own.Account != a.u.Sender.ID || own.Workspace != a.u.Sender.Workspace {
		own.Account, own.Workspace = a.u.Sender.ID, a.u.Sender.Workspace
		raw, failed := agent.Encode(own)
		c.Settings, err = raw, errors.Join(err, failed)
	}
	return c, err
}

func (l *line) stop(ctx context.Context, thread string, say words) (string, error) {
	rt := l.b.h.cfg.Runs
	if thread == "" || rt.Active(thread) == "" {
		return say.nothing, nil
	}
	if err := rt.CancelAll(ctx, thread); err != nil {
		return "", err
	}
	return "", nil // the answer reports it
}

func (l *line) status(ctx context.Context, c store.ChannelChat, say words) (string, error) {
	var out []string
	if c.Thread != "" {
		t, err := l.b.h.cfg.DB.Thread(ctx, c.Thread)
		if err != nil && !missing(err) {
			return "", err
		}
		if t.Title != "" {
			out = append(out, fmt.Sprintf(say.conversation, t.Title))
		}
		out = append(out, fmt.Sprintf(say.thread, c.Thread))
	}
	if m := settingsOf(c).Model; m != "" {
		out = append(out, fmt.Sprintf(say.modelIs, m))
	}
	state := say.idle
	if l.turn != nil {
		state = say.working
	}
	out = append(out, fmt.Sprintf(say.state, state), fmt.Sprintf(say.waiting, len(l.let)))
	last, err := l.b.h.cfg.DB.LastAnswer(ctx, l.b.provider, l.at.chat, l.at.topic)
	if err != nil && !missing(err) {
		return "", err
	}
	if last.Error != "" {
		out = append(out, fmt.Sprintf(say.lastError, chat.ParseTrouble(last.Error).Text))
	}
	return strings.Join(out, "\n"), nil
}

// again sends the line's last answer as new messages.
func (l *line) again(ctx context.Context, a *admitted) error {
	db := l.b.h.cfg.DB
	last, err := db.LastAnswer(ctx, l.b.provider, l.at.chat, l.at.topic)
	if missing(err) {
		l.b.say(ctx, a.u, l.b.words(a.u.Sender).noAnswer)
		return nil
	}
	if err != nil {
		return err
	}
	return l.b.renew(ctx, last.Run)
}

// chatSettings are kept with a chat.
type chatSettings struct {
	Model   string `json:"model,omitempty"`
	Members string `json:"members,omitempty"` // groups only: all or paired; empty uses the channel's setting
	Host    string `json:"host,omitempty"`    // of a group: owner on whose behalf guests are answered
	Account string `json:"account,omitempty"` // private chats only: the owner's account
	// Workspace is the workspace of Account, or of the person who let Fawn into the group.
	Workspace string `json:"workspace,omitempty"`
}

func settingsOf(c store.ChannelChat) (s chatSettings) {
	if json.Unmarshal(c.Settings, &s) != nil {
		return chatSettings{}
	}
	return s
}

// mostModels limits the models in a list.
const mostModels = 30

// models lists the sender's models, all or by a word in their names, or selects one.
func (l *line) models(ctx context.Context, c store.ChannelChat, a *admitted, say words) (string, error) {
	var all []string
	if l.b.h.cfg.Models != nil {
		all = l.b.h.cfg.Models(ctx, a.who.owner)
	}
	name := a.cmd.arg
	if name == "" {
		return listed(all, say), nil
	}
	if !slices.Contains(all, name) {
		word := strings.ToLower(name)
		found := slices.DeleteFunc(slices.Clone(all), func(m string) bool { return !strings.Contains(strings.ToLower(m), word) })
		switch len(found) {
		case 0:
			return say.noModel, nil
		case 1:
			name = found[0]
		default:
			return say.models + "\n" + listed(found, say), nil
		}
	}
	own := settingsOf(c)
	own.Model = name
	raw, err := agent.Encode(own)
	if err != nil {
		return "", err
	}
	c.Settings = raw
	return fmt.Sprintf(say.model, name), l.b.h.cfg.DB.PutChannelChat(ctx, c)
}

// listed returns a list of names of sensible length.
func listed(names []string, say words) string {
	shown := names[:min(len(names), mostModels)]
	text := "- " + strings.Join(shown, "\n- ")
	if len(names) == 0 {
		text = say.noModel
	}
	if more := len(names) - len(shown); more > 0 {
		text += "\n" + fmt.Sprintf(say.more, more)
	}
	return text
}

func (l *line) goal(ctx context.Context, c store.ChannelChat, text string, say words) (string, error) {
	if c.Thread == "" {
		return say.noGoal, nil
	}
	g, answer := &agent.Goal{}, say.goalGone
	switch text {
	case "":
		return l.showGoal(ctx, c.Thread, say)
	case "clear":
	default:
		g = middleware.NewGoal(agent.Head(text, middleware.LongestGoal), middleware.MaxContinuations, time.Now())
		answer = say.goalSet
	}
	values, err := agent.Encode(map[string]any{"goal": g})
	if err != nil {
		return "", err
	}
	_, err = l.b.h.cfg.Runs.UpdateState(ctx, c.Thread, runs.Update{Values: values})
	switch {
	case errors.Is(err, runs.ErrBusy):
		return say.busy, nil
	case errors.Is(err, runs.ErrNotFound) || missing(err):
		return say.noGoal, nil
	}
	return answer, err
}

func (l *line) showGoal(ctx context.Context, thread string, say words) (string, error) {
	snap, err := l.b.h.cfg.DB.Snapshot(ctx, thread, "")
	if missing(err) {
		return say.noGoal, nil
	}
	if err != nil {
		return "", err
	}
	var g agent.Goal
	if raw := snap.Fields["goal"]; len(raw) == 0 || json.Unmarshal(raw, &g) != nil || g.Objective == "" {
		return say.noGoal, nil
	}
	return fmt.Sprintf(say.goal, g.Objective), nil
}
