// Package clusterstate keeps the state that all servers of a database share and people change: settings, keys, and the
// folders of agents and skills. It is stored as rows. Each server caches the newest version, is notified of changes,
// and also polls.
//
// The state of runs and threads is not here but in package store.
package clusterstate
