// Package skills manages workflows that agents load when needed. A skill is a folder with a SKILL.md: front matter with
// its name and purpose, and instructions. Skills lie at any depth below public and custom; a custom one hides a public
// one of the same name. The files are read when needed, so manual changes apply at once. Enabled skills are copied,
// plain files only, to a folder that sandboxes show read-only.
//
// Fetching skills from elsewhere is package fetch; the program that skills run in sandboxes is skilltool. Begin with
// skill.go, then library.go.
package skills
