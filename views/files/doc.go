// Package files shows files: chips, cards, the panel and its previews. It gets contents that were
// read and bounded before.
package files
