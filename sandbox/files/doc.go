// Package files keeps the files of each thread apart from those of all others and of the host.
//
// [Dirs] owns the folders of all threads. [Files] is one thread's view of its folder under the
// virtual paths that the agent, the API and the UI share (/mnt/user-data/...). Every access goes
// through an [os.Root], so neither "..", nor links, nor a folder swapped at the wrong moment reach
// beyond it, and no error carries a path of the host. [Quota] counts what a thread takes up.
//
// What reads, writes, lists or searches these files belongs here. What runs programs on them does
// not: that is package sandbox, which stands above. What came of a run's changes is package changes.
package files
