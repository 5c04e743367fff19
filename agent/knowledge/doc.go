// Package knowledge manages collections of documents that projects and agents refer to by name: their sources, updates
// of changed documents, and searches.
//
// Package store has the rows and checks permissions to read and write a collection ([store.DB.CollectionFor]).
// Reading a source can be repeated at any time: each document is stored with the stamp of its content, so a server that
// takes over from a killed one repeats only unfinished work. Uploaded files are stored as the uploads of a reserved
// thread ([store.CollectionShelf]); of all other sources only the text is kept.
package knowledge
