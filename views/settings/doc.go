// Package settings holds the sections of the settings, as a page and as a dialog over another page. What
// a setting does is not known here.
package settings
