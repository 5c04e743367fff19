// Package gateway serves the routes that DeerFlow's gateway adds to LangGraph's: models, settings, agents, skills,
// memory, MCP servers, accounts, scheduled tasks, usage and more. Each subject has one file of handlers and one
// describe_ file for the OpenAPI document.
//
// LangGraph's routes are in package api, also under the gateway's prefix. Rules belong to the services below (memory,
// schedule, bots, projects); a handler parses a request and words the response. Begin with routes.go.
package gateway
