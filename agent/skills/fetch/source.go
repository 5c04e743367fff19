// Package fetch downloads skills as archives that a [skills.Library] can install, from folders of this machine,
// archives at an address, and folders of git repositories. It limits their size; the library checks the content.
package fetch

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"fawn/agent/skills"
)

// Source is the place of a skill on the web.
type Source struct {
	Archive string // address of a .skill or .zip file; "" with a repository
	Repo    string // address of a git repository
	Ref     string // branch, tag or commit; "" is the default
	Folder  string // folder of the skill in the repository; "" looks for the only one

	tree string // ref and folder in one, the way forges write addresses: main/skills/pdf
}

func refuse(format string, args ...any) error {
	return &skills.Refused{Why: fmt.Sprintf(format, args...)}
}

// views are path elements of forges between a repository and the ref of a page.
var views = []string{"/-/tree/", "/-/blob/", "/tree/", "/blob/", "/src/branch/", "/src/tag/", "/src/commit/"}

// Parse parses an address: of an archive, of a repository (optionally followed by "#ref:folder", as in container
// builds), or of a folder's page on a forge. The error is a [*skills.Refused].
func Parse(address string) (Source, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return Source{}, refuse("%q is not the address of a skill: it must begin with https://", shorten(address))
	case u.User != nil:
		return Source{}, refuse("the address has a user name in it; only public repositories can be read")
	}
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	if end := strings.ToLower(path.Ext(u.Path)); (end == ".skill" || end == ".zip") && fragment == "" {
		return Source{Archive: u.String()}, nil
	}
	u.RawQuery = ""
	var s Source
	for _, view := range views {
		before, after, ok := strings.Cut(u.Path, view)
		if !ok || strings.Count(strings.Trim(before, "/"), "/") < 1 {
			continue
		}
		u.Path, u.RawPath = before, ""
		s.tree = strings.Trim(after, "/")
		if path.Base(s.tree) == skills.File {
			s.tree = path.Dir(s.tree)
		}
		break
	}
	u.Path = strings.TrimRight(u.Path, "/")
	s.Repo = u.String()
	if fragment != "" {
		s.tree = ""
		s.Ref, s.Folder, _ = strings.Cut(fragment, ":")
		s.Folder = strings.Trim(s.Folder, "/")
	}
	if slices.Contains(strings.Split(s.Folder+"/"+s.tree, "/"), "..") {
		return Source{}, refuse("the folder in the address leads out of the repository")
	}
	return s, nil
}

// shorten limits the quoted part of an address.
func shorten(s string) string { return shortenTo(s, 160) }

func shortenTo(s string, n int) string {
	r := []rune(strings.ToValidUTF8(s, "?"))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}
