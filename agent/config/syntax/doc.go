// Package syntax reads files of configuration: YAML and JSON become one kind of tree whose nodes know
// where they were written, and a decoder lays a tree over a struct that holds the defaults.
//
// Which keys there are, which files, and what the values mean together is package config's.
package syntax
