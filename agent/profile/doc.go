// Package profile keeps custom agents as files that people may also write by hand:
// users/{owner}/agents/{name}/config.yaml says what an agent is made of, and the SOUL.md beside
// it who it is. The SOUL.md at the top of the data folder is the lead agent's own, and USER.md
// says who the user is. The files are the truth: they are read whenever they are needed, so a
// change by hand counts from the next run on. One that cannot be read is an error of its own
// agent and of no other.
package profile
