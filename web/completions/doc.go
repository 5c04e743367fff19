// Package completions serves Fawn's agents through OpenAI's API: GET /v1/models, POST /v1/chat/completions and POST
// /v1/responses. A model is an agent, and a conversation is a thread: clients of chat completions send the whole
// conversation each time, so the answered part is recognized and only new messages go to the agent. The routes use the
// HTTP API, with its checks, as the principal of the request.
package completions
