// Package systemd is the program's side of the protocols of a service manager: it takes over
// sockets (sd_listen_fds), and reports readiness, shutdown and liveness (sd_notify).
package systemd
