// Package extensions edits extensions_config.json, which several rooms write to: what one changes
// leaves everything else as it is, and two never lose each other's changes.
package extensions
