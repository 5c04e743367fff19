package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"net/netip"
	"slices"

	"fawn/sandbox/netguard"
)

const (
	socksVersion = 5
	socksConnect = 1

	socksIPv4 = 1
	socksName = 3
	socksIPv6 = 4
)

// socks serves a SOCKS5 client without authentication; CONNECT is its only
// command.
func (s *session) socks(ctx context.Context) {
	host, port, code := s.readSocks()
	if code != 0 {
		s.note(&denial{verdict: Malformed, rule: "socks"})
		s.answerSocks(code)
		return
	}
	g, d := s.admit(ctx, host, port)
	if d == nil {
		d = s.connect(ctx, host, port)
	}
	if d != nil {
		s.note(d)
		switch d.status {
		case http.StatusForbidden, http.StatusTooManyRequests:
			s.answerSocks(2) // not allowed
		default:
			s.answerSocks(4) // host unreachable
		}
		return
	}
	if s.answerSocks(0) {
		s.tunnel(ctx, g, host, port)
	}
}

// readSocks negotiates no authentication and reads the target. code is the reply's; 255 means no reply.
func (s *session) readSocks() (host string, port int, code byte) {
	const silent, failed, badCommand, badAddress = 255, 1, 7, 8
	greeting := make([]byte, 2)
	if _, err := io.ReadFull(s.in, greeting); err != nil {
		return "", 0, silent
	}
	methods := make([]byte, greeting[1])
	if _, err := io.ReadFull(s.in, methods); err != nil {
		return "", 0, silent
	}
	method := byte(0)
	if !slices.Contains(methods, 0) {
		method = 255
	}
	if _, err := s.flow.client.Write([]byte{socksVersion, method}); err != nil || method != 0 {
		return "", 0, silent
	}
	request := make([]byte, 4)
	if _, err := io.ReadFull(s.in, request); err != nil || request[0] != socksVersion || request[2] != 0 {
		return "", 0, silent
	}
	host, ok := s.readSocksHost(request[3])
	number := make([]byte, 2)
	if _, err := io.ReadFull(s.in, number); err != nil {
		return "", 0, silent
	}
	port = int(binary.BigEndian.Uint16(number))
	switch {
	case request[1] != socksConnect:
		return "", 0, badCommand
	case !ok:
		return "", 0, badAddress
	}
	normal, err := netguard.Host(host)
	if err != nil || port == 0 {
		return "", 0, failed
	}
	return normal, port, 0
}

// readSocksHost reads an address of the given type.
func (s *session) readSocksHost(kind byte) (string, bool) {
	size := 0
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		n, err := s.in.ReadByte()
		if err != nil {
			return "", false
		}
		size = int(n)
	default:
		return "", false
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(s.in, raw); err != nil {
		return "", false
	}
	if kind == socksName {
		return string(raw), true
	}
	addr, ok := netip.AddrFromSlice(raw)
	return addr.String(), ok
}

// answerSocks ends the negotiation and reports whether the client was told.
func (s *session) answerSocks(code byte) bool {
	if code == 255 {
		return false
	}
	// The bound address is the proxy's, which clients needn't know.
	_, err := s.flow.client.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	if err != nil || code != 0 {
		s.linger()
		return false
	}
	return true
}
