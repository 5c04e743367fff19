package turns

import (
	"strconv"
	"strings"

	"fawn/agent"
	"fawn/agent/tools"
	"fawn/views"
)

// pictures returns the pictures that a call made, nil where it made none.
func pictures(thread string, m *agent.Message) *views.Pictures {
	a := tools.ReadPictures(m.Artifact)
	if a == nil || m.Name != tools.GenerateImage && m.Name != tools.EditImage {
		return nil
	}
	p := &views.Pictures{Prompt: a.Prompt, Model: a.Model, Edit: a.Source != ""}
	if a.Seed != nil {
		p.Seed = strconv.FormatInt(*a.Seed, 10)
	}
	for _, f := range a.Files {
		p.Files = append(p.Files, views.File{ThreadID: thread, Path: strings.TrimPrefix(f, "/"), New: true})
	}
	return p
}
