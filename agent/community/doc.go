// Package community searches and reads the web for agents. Each service has its own file; providers.go lists them all.
// [Service] selects among them, falls back from one to the next, and provides the tools for models. Every request goes
// through package netguard: addresses chosen by a model never reach private networks.
package community
