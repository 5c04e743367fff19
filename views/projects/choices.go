package projects

import (
	"context"

	"fawn/views"
	"fawn/views/i18n"
)

// option is one of a select.
type option struct{ value, text string }

// same returns options whose label is their value, except hidden ones.
func same(ctx context.Context, names []string) (all []option) {
	for _, n := range names {
		text := n
		if n == views.KeptChoice {
			text = i18n.C(ctx, "projects.kept")
		}
		all = append(all, option{n, text})
	}
	return all
}

func colors(ctx context.Context) []option {
	return []option{{"", i18n.C(ctx, "projects.color.none")}, {"green", i18n.C(ctx, "projects.color.green")},
		{"blue", i18n.C(ctx, "projects.color.blue")}, {"amber", i18n.C(ctx, "projects.color.amber")},
		{"red", i18n.C(ctx, "projects.color.red")}}
}

func memories(ctx context.Context) []option {
	return []option{{"project", i18n.C(ctx, "projects.memory.project")},
		{"isolated", i18n.C(ctx, "projects.memory.isolated")}, {"personal", i18n.C(ctx, "projects.memory.personal")}}
}

// role returns a person's role in a project.
func role(ctx context.Context, name string) string {
	switch name {
	case "owner":
		return i18n.C(ctx, "projects.role.owner")
	case "editor":
		return i18n.C(ctx, "projects.role.editor")
	}
	return i18n.C(ctx, "projects.role.viewer")
}
