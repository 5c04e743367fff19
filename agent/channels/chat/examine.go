package chat

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// An Examiner is a Channel that can list its bot's permissions with read-only calls.
type Examiner interface {
	// Examine lists the bot's missing permissions and settings. It returns the errors of Check.
	Examine(ctx context.Context) ([]Lack, error)
}

// A Lack is a missing permission, scope or switch.
type Lack struct {
	Need  string // its name on the platform
	Loses Loss
}

// A Loss names the work a bot can't do without a permission.
type Loss string

// Abilities that a missing permission costs.
const (
	LosesAll      Loss = "all"      // no message reaches the bot
	LosesPrivate  Loss = "private"  // private messages don't reach the bot
	LosesGroups   Loss = "groups"   // the bot reads nothing in groups
	LosesSecluded Loss = "secluded" // the bot reads nothing in private channels
	LosesAnswers  Loss = "answers"  // the bot can't write
	LosesFilesIn  Loss = "filesin"  // files sent to the bot can't be read
	LosesFilesOut Loss = "filesout" // files can't be posted
	LosesSigns    Loss = "signs"    // no typing indicator
	LosesStop     Loss = "stop"     // a reaction can't stop an answer
)

// need is a group of permissions, any of which will do.
type need struct {
	any   []string
	loses Loss
}

// lacking lists the needs that none of the granted permissions meets.
func lacking(needs []need, granted []string) (out []Lack) {
	for _, n := range needs {
		if !slices.ContainsFunc(n.any, func(name string) bool { return slices.Contains(granted, name) }) {
			out = append(out, Lack{Need: n.any[0], Loses: n.loses})
		}
	}
	return out
}

// Examine checks for a webhook, which would take all updates, and whether groups are disabled.
func (t *Telegram) Examine(ctx context.Context) (out []Lack, err error) {
	var me struct {
		Groups *bool `json:"can_join_groups"`
	}
	if err := t.call(ctx, "getMe", nil, &me); err != nil {
		return nil, err
	}
	if me.Groups != nil && !*me.Groups {
		out = append(out, Lack{Need: "/setjoingroups", Loses: LosesGroups})
	}
	var hook struct {
		URL string `json:"url"`
	}
	if err := t.call(ctx, "getWebhookInfo", nil, &hook); err != nil {
		return nil, err
	}
	if hook.URL != "" {
		out = append(out, Lack{Need: "deleteWebhook", Loses: LosesAll})
	}
	return out, nil
}

// slackNeeds returns the scopes of a bot token.
func slackNeeds() []need {
	return []need{{[]string{"chat:write"}, LosesAnswers}, {[]string{"im:history"}, LosesPrivate},
		{[]string{"app_mentions:read", "channels:history"}, LosesGroups}, {[]string{"groups:history"}, LosesSecluded},
		{[]string{"files:read"}, LosesFilesIn}, {[]string{"files:write"}, LosesFilesOut},
		{[]string{"reactions:write"}, LosesSigns}, {[]string{"reactions:read"}, LosesStop}}
}

// Examine reads the scopes of the bot token, which Slack names in a header of each answer, and tries the app token.
func (s *Slack) Examine(ctx context.Context) ([]Lack, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	resp, err := s.c.open(ctx, call{op: "auth.test", method: http.MethodPost, path: "/auth.test", kind: slackForm,
		header: bearer(s.cfg.BotToken)})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var reply slackReply
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{op: "auth.test", Status: resp.StatusCode, Header: resp.Header}
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxAnswer)).Decode(&reply); err != nil {
		return nil, s.c.clean("auth.test: reading the answer", err)
	}
	if !reply.OK {
		return nil, s.refused("auth.test", reply)
	}
	if _, err := s.address(ctx); err != nil {
		return nil, err
	}
	granted := resp.Header.Get("X-OAuth-Scopes")
	if granted == "" {
		return nil, nil // the response doesn't report it
	}
	var list []string
	for name := range strings.SplitSeq(granted, ",") {
		list = append(list, strings.TrimSpace(name))
	}
	return lacking(slackNeeds(), list), nil
}

// Flags of a Discord application whose bot may read the text of messages; the second is for bots in few servers.
const (
	discordContent       = 1 << 18
	discordContentOfFew  = 1 << 19
	discordContentSwitch = "Message Content Intent"
)

// Examine finds a message content intent that is off: Discord then refuses the connection.
func (d *Discord) Examine(ctx context.Context) ([]Lack, error) {
	var app struct {
		Flags int64 `json:"flags"`
	}
	err := d.do(ctx, call{op: "applications/@me", method: http.MethodGet, path: "/oauth2/applications/@me"}, &app)
	if err != nil {
		return nil, err
	}
	if app.Flags&(discordContent|discordContentOfFew) == 0 {
		return []Lack{{Need: discordContentSwitch, Loses: LosesAll}}, nil
	}
	return nil, nil
}

// feishuNeeds returns the scopes of an app: im:message includes several narrower ones.
func feishuNeeds() []need {
	return []need{{[]string{"im:message:send_as_bot", "im:message"}, LosesAnswers},
		{[]string{"im:message.p2p_msg:readonly", "im:message.p2p_msg", "im:message"}, LosesPrivate},
		{[]string{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message"}, LosesGroups},
		{[]string{"im:resource", "im:message:readonly", "im:message"}, LosesFilesIn},
		{[]string{"im:resource"}, LosesFilesOut},
		{[]string{"im:message.reactions:write_only", "im:message"}, LosesSigns}}
}

// Examine requests the scopes granted by the tenant.
func (f *Feishu) Examine(ctx context.Context) ([]Lack, error) {
	r, err := f.call(ctx, call{op: "scopes", method: http.MethodGet, path: "/application/v6/scopes"})
	if _, refused := errors.AsType[*Refused](err); refused {
		return nil, nil // the app lacks the permission to ask
	}
	if err != nil {
		return nil, err
	}
	var list struct {
		Scopes []struct {
			Name   string `json:"scope_name"`
			Status int    `json:"grant_status"`
		} `json:"scopes"`
	}
	if err := json.Unmarshal(r.Data, &list); err != nil {
		return nil, f.c.clean("scopes: reading the answer", err)
	}
	var granted []string
	for _, s := range list.Scopes {
		if s.Status == 1 {
			granted = append(granted, s.Name)
		}
	}
	return lacking(feishuNeeds(), granted), nil
}
