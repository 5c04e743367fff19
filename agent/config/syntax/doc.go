// Package syntax reads files of configuration: YAML and JSON become one kind of tree whose nodes know where they were
// written, and a decoder lays a tree over a struct that holds the defaults.
//
// The keys, the files and checks across values belong to package config.
package syntax
