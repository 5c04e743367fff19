// Package config reads what the owner of a Fawn server has written: config.yaml, the settings the
// web page saved, the extensions file and the environment, and hands out one immutable Snapshot.
//
// Every key keeps the name it has in DeerFlow, so an existing config.yaml works unchanged; keys of
// features which Fawn does not have are read and checked all the same. A Snapshot never changes:
// an edit of a file makes a new one, which Store swaps in after it has been validated as a whole.
//
// What a key does belongs to the package that does it, which also owns the type, the defaults and the
// checks of its options; here is only where values come from, and what is wrong with them.
package config
