// Package sandbox keeps what belongs to a thread apart from everything else:
// its files, and the programs the agent runs on them.
//
// [Dirs] owns the folders of all threads. [Files] is one thread's view of its
// folder under the virtual paths that the agent, the API and the UI share
// (/mnt/user-data/...). Every access goes through an [os.Root], so neither
// "..", nor links, nor a folder swapped at the wrong moment reach beyond it,
// and no error carries a path of the host.
//
// A [Provider] runs commands. [New] chooses one by trying its whole sequence of
// steps, and never settles for less than was asked: where nothing works, the
// answer is a provider that runs nothing and says why. On Linux commands run in
// namespaces of their own, where the virtual paths are real; package jail is
// what runs on the inside. A main that serves must call [Reexec] first.
//
// Files of one provider begin with its name: ns, landlock, docker, seatbelt. What commands may
// do is decided above, by agent/command and the guardrails; how a network request is judged,
// in package egress.
package sandbox
