package turns

import (
	"strings"

	"fawn/agent"
	"fawn/agent/browsing"
	"fawn/views"
)

// browsedOf returns the view of a browser tool's result, nil for other tools.
func browsedOf(m *agent.Message) *views.Browsed {
	a := browsing.ReadArtifact(m.Artifact)
	if a == nil {
		return nil
	}
	b := &views.Browsed{Address: a.Address, Title: a.Title, Target: a.Target, Saved: a.Saved}
	if at, ok := strings.CutPrefix(a.Picture, browsing.Pictures+"/"); ok && !strings.Contains(at, "/") {
		b.Picture = a.Picture
	}
	return b
}
