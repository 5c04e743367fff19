// Package gateway has the routes that DeerFlow's gateway has beside LangGraph's: models, settings, agents,
// skills, memory, MCP servers, accounts, scheduled tasks, usage and more. It is a flat list of handlers: one
// file for each thing that routes are about, and one that describes them for the document.
//
// What LangGraph has, too, is package api, also in the manners of the gateway.
package gateway
