package views

import (
	"fawn/sandbox/linediff"
	"net/url"
	"time"
)

// FileHistory lists the versions of a file, with the chosen one's differences.
type FileHistory struct {
	List         []FileVersion // the newest first
	Lines        []linediff.Line
	Cut          bool   // Lines are not all
	Added, Taken int    // lines, since the chosen version
	Same         bool   // the file is as it was
	Why          string // why there are no lines, as the last part of a word's name
}

// FileVersion is a content that a file had.
type FileVersion struct {
	ID      string
	Number  int
	At      time.Time
	Bytes   int64
	By      string // name of a tool, person or restore; empty is not known
	Run     string // empty is none
	Kept    bool   // it can be compared, saved and restored
	Current bool
	Chosen  bool
}

// VersionsURL returns the page of a file's versions; version is the one to compare with, or empty.
func (f File) VersionsURL(version string) string {
	return f.PageURL() + "?versions=" + url.QueryEscape(version)
}

// PanelVersionsURL returns the same for the panel.
func (f File) PanelVersionsURL(version string) string {
	return PanelURL(f.ThreadID, f.Path) + "?versions=" + url.QueryEscape(version)
}

// VersionURL downloads an earlier version of a file.
func (f File) VersionURL(version string) string {
	return ActionURL(f.ThreadID, "version/"+escapePath(f.Path)) + "?version=" + url.QueryEscape(version)
}

// RestoreURL restores an earlier version.
func (f File) RestoreURL() string { return ActionURL(f.ThreadID, "restore/"+escapePath(f.Path)) }
