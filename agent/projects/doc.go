// Package projects manages folders of chats: their settings, files and permissions.
//
// Package store has the rows and checks permissions to read and write a project ([store.DB.ProjectFor]); pages and the API
// change projects through a [Service] only. The files of a project are the uploads of a reserved thread
// ([store.ShelfOf]), so they are converted, searched, counted and versioned like those of threads.
package projects
