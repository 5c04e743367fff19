// Package acp asks agents that speak the Agent Client Protocol, which run on this machine as processes of their own: each
// call has one that ends with it, and a folder that belongs to the thread.
package acp
