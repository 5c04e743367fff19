// Package filestore keeps the files of threads in versions, whose contents are objects in a store that all servers reach.
//
// A version is what changed since the one before. The contents of large files are objects of their own, small ones
// share packs; each is named by its hash, and what a thread has already is not stored again. What a server has in the
// folders of its threads is a copy: it is brought up to date before it is used, saved before anybody hears of what
// changed in it, and may be removed at any time between.
package filestore
