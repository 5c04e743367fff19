// Package docker runs each thread in a container of Docker or Podman, using the engine's HTTP API directly. No other
// package depends on container engines.
package docker
