// Package wire writes what readers of runs get: it takes the events of runs and gives frames of
// server-sent events, in LangGraph's stream modes (Encoder) and as events of the thread protocol
// (ProtocolEncoder), with the parts of a state that both and the API show. It knows no requests and
// no routes.
package wire
