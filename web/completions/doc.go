// Package completions serves Fawn's agents to programs that know OpenAI's API: GET /v1/models, POST
// /v1/chat/completions and POST /v1/responses. A model is an agent, and a conversation is a thread: clients of chat
// completions send all of it each time, so the part that Fawn has answered is recognised and only what is new goes to
// the agent. The routes work through the HTTP API, with its checks, as the principal of the
// request.
package completions
