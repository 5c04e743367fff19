// Package files isolates the files of each thread from those of others and of the host.
//
// [Dirs] manages the folders of all threads. [Files] is one thread's view of its folder under the virtual paths that
// the agent, the API and the UI share (/mnt/user-data/...). Every access goes through an [os.Root], so neither "..",
// nor links, nor a folder swapped at the wrong moment reach beyond it, and no error contains a path of the host.
// [Quota] measures a thread's storage.
//
// Reading, writing, listing and searching files belong here. Running programs on them belongs to package sandbox above,
// and recording a run's changes to package changes.
package files
