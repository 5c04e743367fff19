// Package knowledge has the pages of collections of documents.
package knowledge

import (
	"context"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"fawn/views"
	"fawn/views/i18n"
)

// ListPage renders the page of all collections.
func ListPage(p views.KnowledgePage) templ.Component { return i18n.In(p.Shell.Lang, listPage(p)) }

// Page renders the page of a collection.
func Page(p views.CollectionPage) templ.Component { return i18n.In(p.Shell.Lang, page(p)) }

// TextPage renders the page of a document.
func TextPage(p views.KnowledgeTextPage) templ.Component { return i18n.In(p.Shell.Lang, textPage(p)) }

// panel shows the text of a document as the panel of a chat does, at a line in its source.
func panel(p views.KnowledgeTextPage) views.Panel {
	return views.Panel{File: &p.File, Code: strings.HasPrefix(p.File.At, "line-") && p.File.Kind.Textual()}
}

// from returns the page of a collection with its documents from an offset on.
func from(id string, offset int) string {
	return views.CollectionURL(id) + "?from=" + strconv.Itoa(offset) + "#k-documents"
}

func kindIcon(kind string) string {
	switch kind {
	case "folder":
		return "folder"
	case "web":
		return "globe"
	case "git":
		return "git-branch"
	}
	return "file-up"
}

// state returns the status text of a source.
func state(ctx context.Context, s views.KnowledgeSource) string {
	switch {
	case s.State == "pending" && s.Total > 0:
		return i18n.C(ctx, "knowledge.state.progress", s.Done, s.Total)
	case s.State == "pending":
		return i18n.C(ctx, "knowledge.state.pending")
	case s.State == "failed":
		return s.Problem
	case s.Skipped > 0:
		return i18n.N(ctx, "knowledge.documents", s.Total) + " · " + i18n.N(ctx, "knowledge.skipped", s.Skipped)
	}
	return i18n.N(ctx, "knowledge.documents", s.Total)
}

// choice is one of a select.
type choice struct{ value, text string }

func intervals(ctx context.Context) []choice {
	return []choice{{"0", i18n.C(ctx, "knowledge.every.never")}, {"3600", i18n.C(ctx, "knowledge.every.hour")},
		{"86400", i18n.C(ctx, "knowledge.every.day")}, {"604800", i18n.C(ctx, "knowledge.every.week")}}
}

func kinds(ctx context.Context, p views.CollectionPage) []choice {
	list := []choice{{"web", i18n.C(ctx, "knowledge.kind.web")}, {"git", i18n.C(ctx, "knowledge.kind.git")}}
	if folders(p) {
		list = append(list, choice{"folder", i18n.C(ctx, "knowledge.kind.folder")})
	}
	return list
}

// folders reports whether folders of the server can be sources.
func folders(p views.CollectionPage) bool { return p.Operator && len(p.Folders) > 0 }

// placeholder returns the beginning of an address.
func placeholder(p views.CollectionPage) string {
	if folders(p) {
		return ""
	}
	return "https://"
}

// role returns a person's role in a collection.
func role(ctx context.Context, name string) string {
	switch name {
	case "owner":
		return i18n.C(ctx, "projects.role.owner")
	case "editor":
		return i18n.C(ctx, "projects.role.editor")
	}
	return i18n.C(ctx, "projects.role.viewer")
}
