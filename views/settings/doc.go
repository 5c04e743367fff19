// Package settings renders the sections of the settings, as a page and as a dialog over another page. It has no
// knowledge of a setting's effect.
package settings
