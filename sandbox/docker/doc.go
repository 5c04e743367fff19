// Package docker keeps each thread in a container of Docker or Podman, whose interface it speaks
// itself. Nothing else in the program knows of container engines.
package docker
