// Package knowledge keeps collections of documents that projects and agents refer to by name: where their documents
// come from, reading these again when they change, and finding passages in them.
//
// The rows are in package store, which also answers who may read and write a collection
// ([store.DB.CollectionFor]). Reading a source is repeatable at any moment: each document is kept with the stamp of
// what it was made of, so that a server which goes on after another was killed does again only what was not finished.
// Uploaded files are kept as the uploads of a thread that nobody can have ([store.CollectionShelf]); of everything else
// only the text is kept.
package knowledge
