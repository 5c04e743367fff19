// Package filestore keeps the files of threads as versions, whose contents are objects in a store that all servers
// reach.
//
// A version is the changes since the one before. Contents of large files are objects of their own, small ones share
// packs; each is named by its hash and stored once per thread. A server's folders are copies: a copy is updated before
// use, saved before anybody is told of its changes, and may be removed at any time between.
package filestore
