package systemd

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// notifyTime limits sending a notification to the manager.
const notifyTime = 5 * time.Second

// Manager is the service manager that started the program. The zero value is none, and notifying it does nothing.
type Manager struct {
	socket   string        // address of a Unix datagram socket
	watchdog time.Duration // the longest silence it accepts; 0 is any
}

// Find reads the manager's address from the environment, and removes it: it isn't meant for child processes.
func Find() Manager {
	m := Manager{socket: os.Getenv("NOTIFY_SOCKET")}
	pid, usec := os.Getenv("WATCHDOG_PID"), os.Getenv("WATCHDOG_USEC")
	n, err := strconv.ParseInt(usec, 10, 64)
	if err == nil && n > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.watchdog = time.Duration(n) * time.Microsecond
	}
	for _, name := range [...]string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"} {
		_ = os.Unsetenv(name) // fails for invalid names only
	}
	return m
}

// Ready reports that the server answers requests.
func (m Manager) Ready() error { return m.notify("READY=1", "STATUS=Serving") }

// Stopping reports that the server has begun to stop.
func (m Manager) Stopping() error { return m.notify("STOPPING=1", "STATUS=Stopping") }

// Watch reports at the pace the manager asked for that the server is healthy, until ctx ends. While
// healthy returns an error, only the status is reported: the manager then restarts the server.
func (m Manager) Watch(ctx context.Context, healthy func() error) {
	if m.socket == "" || m.watchdog == 0 {
		return
	}
	tick := time.NewTicker(m.watchdog / 2)
	defer tick.Stop()
	for {
		word := "WATCHDOG=1"
		if err := healthy(); err != nil {
			word = "STATUS=" + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		_ = m.notify(word) // silence is a report too
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (m Manager) notify(words ...string) error {
	if m.socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.socket, Net: "unixgram"})
	if err == nil {
		_ = c.SetWriteDeadline(time.Now().Add(notifyTime)) // the queue of a manager that hangs may be full
		_, err = c.Write([]byte(strings.Join(words, "\n")))
		_ = c.Close()
	}
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}
