// Package profile keeps custom agents as files that people may also write by hand:
// users/{owner}/agents/{name}/config.yaml holds an agent's settings, and SOUL.md next to it its personality. SOUL.md at
// the top of the data folder belongs to the lead agent, and USER.md describes the user. The files are read on each use,
// so manual changes apply from the next run on. An unreadable file affects only its own agent.
package profile
