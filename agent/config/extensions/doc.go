// Package extensions edits extensions_config.json, which several packages write: each edit keeps everything else, and
// concurrent edits are not lost.
package extensions
