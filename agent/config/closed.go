package config

import (
	"fawn/agent/config/syntax"
)

// warnClosed warns about bots in the owner's file without a list of allowed people: DeerFlow then admits everyone, Fawn
// only people who connected their account.
func (s *Snapshot) warnClosed(d *syntax.Decoder) {
	for _, at := range s.tree.Matching([]string{"channels", "*"}, "") {
		on := at.Value.Get("enabled")
		if on == nil || on.Origin().Source == settingsName || at.Key == "channels.session" {
			continue
		}
		if enabled, ok := syntax.ParseBool(on); !ok || !enabled {
			continue
		}
		if list := at.Value.Get("allowed_users"); list != nil && (len(list.Items) > 0 || list.Text != "") {
			continue
		}
		who := "only people who connect their account can write to this bot"
		if !s.File.ChannelConnections.Enabled {
			who = "nobody can write to this bot, because channel_connections.enabled is false"
		}
		where := &syntax.Node{Source: at.Value.Source, Line: at.Line, Col: at.Col}
		d.Warn(where.Problem(`%s.allowed_users is empty: %s. In DeerFlow, everybody can; allowed_users: ["*"] allows that`,
			at.Key, who))
	}
}
