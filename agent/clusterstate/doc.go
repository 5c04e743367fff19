// Package clusterstate has what the servers of a database have in common and people change: the settings, keys, and the
// folders of agents and skills. They are rows; each server keeps the newest it knows, is woken up when one changes, and
// also looks by itself.
package clusterstate
