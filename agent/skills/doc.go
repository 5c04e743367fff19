// Package skills keeps workflows that agents pick up when they need them. A skill is a folder with
// a SKILL.md: front matter that says what it is called and what it is for, and instructions. Skills
// lie at any depth below public and custom, a custom one in front of a public one of its name. The
// files are the truth and are looked at whenever they are needed, so changes by hand count at once.
// What extensions_config.json does not switch off is copied, plain files only, to a folder which
// sandboxes show read-only.
package skills
