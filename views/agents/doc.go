// Package agents holds the pages of the agents and their skills. What an agent may do is decided
// elsewhere.
package agents
