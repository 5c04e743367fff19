// Package sandbox runs the programs of a thread apart from everything else. Their files are those
// of package files, below.
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
