// Package ns runs the commands of each thread in namespaces of Linux: files, processes, network and
// users of their own. It needs neither root nor any program but bash; package jail is what runs on the
// inside, where the virtual paths are real. A main that serves must call [Reexec] first.
//
// What other providers of Linux share with it is here too, in [Base] and below: users for threads,
// control groups, the filter of system calls, and what of the host a sandbox shows. What only one of
// them needs is in packages landlock and docker, above.
package ns
