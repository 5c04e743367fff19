// Package community searches and reads the web for agents. Each service has a file of its own;
// providers.go lists them all. [Service] chooses among them, falls back from one to the next, and
// makes the tools that models call. Every request goes through package netguard: addresses that a
// model chose never lead into private networks.
package community
