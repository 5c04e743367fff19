// Package ns runs the commands of each thread in Linux namespaces with separate files, processes, network and users. It
// needs neither root nor any program but bash; package jail runs on the inside, where the virtual paths are real. A
// server's main must call [Reexec] first.
//
// [Base] and the code below it are shared with other Linux providers: users for threads, control groups, the system
// call filter, and the visible part of the host. Code of a single provider is in packages landlock and docker, above.
package ns
