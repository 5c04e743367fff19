// Package projects keeps folders of chats: their settings, their files and who may use them.
//
// The rows are in package store, which also answers who may read and write a project
// ([store.DB.ProjectFor]); pages and the API change projects through a [Service] only. The files of a
// project are the uploads of a thread that nobody can have ([store.ShelfOf]), so that they are
// converted, searched, counted and kept in versions as those of threads are.
package projects
