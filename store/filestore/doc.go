// Package filestore stores the files of threads as versions, whose contents are objects in a store shared by all
// servers.
//
// A version holds the changes since the previous one. Large files are separate objects, small ones share packs;
// contents are named by hash and stored once per thread. A server's folders are copies: a copy is updated before use,
// saved before its changes are announced, and may be removed at any time in between.
package filestore
