// Package agents renders the pages of agents and their skills. It makes no decisions about permissions.
package agents
