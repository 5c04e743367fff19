// Package wire encodes events of runs as server-sent events, in LangGraph's stream modes (Encoder) and as events of the
// thread protocol (ProtocolEncoder), with the parts of a state that both and the API share. It is independent of
// requests and routes.
package wire
