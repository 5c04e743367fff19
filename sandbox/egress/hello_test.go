package egress

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
)

// hello returns the first flight of a real TLS client.
func hello(t testing.TB, cfg *tls.Config) []byte {
	t.Helper()
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(client, cfg).Handshake() // ends when the pipe is closed
	}()
	defer func() { client.Close(); server.Close(); <-done }()
	raw := make([]byte, 5)
	must.Get(io.ReadFull(server, raw))(t)
	rest := make([]byte, binary.BigEndian.Uint16(raw[3:]))
	must.Get(io.ReadFull(server, rest))(t)
	return append(raw, rest...)
}

// records cuts a message into TLS records of at most n bytes.
func records(message []byte, n int) []byte {
	var out []byte
	for len(message) > 0 {
		part := message[:min(n, len(message))]
		message = message[len(part):]
		out = append(out, recordHandshake, 3, 1, byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

// message builds a client hello with the given extensions.
func message(extensions []byte) []byte {
	body := append(make([]byte, 34), 0, 0, 2, 0x13, 1, 1, 0)
	if extensions != nil {
		body = append(binary.BigEndian.AppendUint16(body, uint16(len(extensions))), extensions...)
	}
	return append([]byte{messageHello, 0, byte(len(body) >> 8), byte(len(body))}, body...)
}

func extension(kind uint16, data []byte) []byte {
	out := binary.BigEndian.AppendUint16(nil, kind)
	return append(binary.BigEndian.AppendUint16(out, uint16(len(data))), data...)
}

// nameList builds the data of a server name extension.
func nameList(kind byte, names ...string) []byte {
	var list []byte
	for _, n := range names {
		list = append(binary.BigEndian.AppendUint16(append(list, kind), uint16(len(n))), n...)
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(list))), list...)
}

func TestHelloOfRealClientsIsRead(t *testing.T) {
	for name, cfg := range map[string]*tls.Config{
		"default": {ServerName: "example.com"},
		"1.2":     {ServerName: "example.com", MaxVersion: tls.VersionTLS12},
		"alpn":    {ServerName: "example.com", NextProtos: []string{"h2", "http/1.1"}},
	} {
		raw := hello(t, cfg)
		for _, size := range []int{1, 3, 100, 1 << 14} {
			in := records(raw[5:], size)
			r := bytes.NewReader(append(bytes.Clone(in), "behind"...))
			got, sni, err := readHello(r)
			if err != nil || sni != "example.com" || !bytes.Equal(got, in) {
				t.Errorf("%s in records of %d: %q, %v, %d of %d bytes", name, size, sni, err, len(got), len(in))
			}
			if r.Len() != len("behind") {
				t.Errorf("%s in records of %d: read %d bytes too many", name, size, len("behind")-r.Len())
			}
		}
	}
	_, sni, err := readHello(bytes.NewReader(hello(t, &tls.Config{ServerName: "10.0.0.1", InsecureSkipVerify: true})))
	if err != nil || sni != "" {
		t.Errorf("without a name: %q, %v", sni, err)
	}
	if _, sni, err := readHello(bytes.NewReader(records(message(nil), 100))); err != nil || sni != "" {
		t.Errorf("without extensions: %q, %v", sni, err)
	}
}

func TestHelloRefusesWhatTwoReadersCouldReadDifferently(t *testing.T) {
	good := extension(extensionName, nameList(0, "a.example"))
	if _, sni, err := readHello(bytes.NewReader(records(message(good), 100))); err != nil || sni != "a.example" {
		t.Fatalf("the plain case: %q, %v", sni, err)
	}
	long := message(extension(21, make([]byte, helloLimit)))
	tests := map[string][]byte{
		"http":                   []byte("GET / HTTP/1.1\r\n\r\n"),
		"other record":           append([]byte{23}, records(message(good), 100)[1:]...),
		"other version":          append([]byte{recordHandshake, 2}, records(message(good), 100)[2:]...),
		"other message":          records(append([]byte{2}, message(good)[1:]...), 100),
		"empty record":           append([]byte{recordHandshake, 3, 1, 0, 0}, records(message(good), 100)...),
		"two messages":           records(append(message(good), message(good)...), 1000),
		"oversized record":       {recordHandshake, 3, 1, 0x7f, 0xff},
		"oversized message":      records([]byte{messageHello, 0xff, 0xff, 0xff}, 100),
		"long message":           records(long, 1<<14),
		"two name extensions":    records(message(append(bytes.Clone(good), extension(extensionName, nameList(0, "b.example"))...)), 1000),
		"two names":              records(message(extension(extensionName, nameList(0, "a.example", "b.example"))), 1000),
		"empty name":             records(message(extension(extensionName, nameList(0, ""))), 1000),
		"empty list":             records(message(extension(extensionName, nameList(0))), 1000),
		"unknown kind of name":   records(message(extension(extensionName, nameList(7, "a.example"))), 1000),
		"bytes behind the list":  records(message(extension(extensionName, append(nameList(0, "a.example"), 0))), 1000),
		"bytes behind":           records(message(append(bytes.Clone(good), 0)), 1000),
		"extension cut":          records(message(good[:len(good)-1]), 1000),
		"no compression":         records([]byte{messageHello, 0, 0, 2, 3, 3}, 100),
		"extensions cut":         records(append([]byte{messageHello, 0, 0, 43}, append(message(nil)[4:], 0, 9)...), 100),
		"bytes after extensions": records(append([]byte{messageHello, 0, 0, 44}, append(message(nil)[4:], 0, 0, 1)...), 100),
	}
	for name, in := range tests {
		if raw, sni, err := readHello(bytes.NewReader(in)); !errors.Is(err, errHello) {
			t.Errorf("%s: %d bytes, %q, %v; want errHello", name, len(raw), sni, err)
		}
	}
	whole := records(message(good), 20)
	for n := range len(whole) {
		if _, _, err := readHello(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("cut at %d of %d bytes: no error", n, len(whole))
		}
	}
}

// TestHelloAgreesWithStandardLibrary damages real messages: where both readers
// understand one, they must see the same name.
func TestHelloAgreesWithStandardLibrary(t *testing.T) {
	real := hello(t, &tls.Config{ServerName: "example.com"})
	rnd := rand.New(rand.NewPCG(1, 2))
	both, names := 0, map[string]bool{}
	for range 2000 {
		in := bytes.Clone(real)
		// The name and what is around it, more often than the keys.
		from := max(0, bytes.Index(in, []byte("example.com"))-12)
		for range 1 + rnd.IntN(2) {
			if rnd.IntN(2) == 0 {
				in[from+rnd.IntN(30)] = byte(rnd.IntN(128))
			} else {
				in[rnd.IntN(len(in))] ^= 1 << rnd.IntN(8)
			}
		}
		raw, name, err := readHello(bytes.NewReader(in))
		if err != nil {
			continue
		}
		if std, ok := standardName(raw); ok {
			both++
			names[name] = true
			if std != name {
				t.Fatalf("name %q, the standard library reads %q", name, std)
			}
		}
	}
	if both < 100 || len(names) < 20 {
		t.Errorf("only %d messages with %d names were understood by both", both, len(names))
	}
}

func FuzzReadHello(f *testing.F) {
	f.Add(records(message(extension(extensionName, nameList(0, "example.com"))), 7))
	f.Add(records(message(append(extension(16, []byte("x")), extension(extensionName, nameList(0, "a"))...)), 100))
	f.Add(records(message(extension(extensionName, nameList(0, "a", "b"))), 100))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		raw, name, err := readHello(r)
		if err != nil {
			return
		}
		if !bytes.Equal(raw, in[:len(in)-r.Len()]) {
			t.Fatal("the bytes returned are not those read")
		}
		if name != "" && !bytes.Contains(joined(raw), []byte(name)) {
			t.Fatalf("the name %q is not in the message", name)
		}
	})
}

// joined returns the contents of records.
func joined(raw []byte) []byte {
	var out []byte
	for len(raw) >= 5 {
		n := int(binary.BigEndian.Uint16(raw[3:]))
		out = append(out, raw[5:5+n]...)
		raw = raw[5+n:]
	}
	return out
}

// standardName is the server name as crypto/tls reads it.
func standardName(raw []byte) (name string, ok bool) {
	stop := errors.New("seen")
	conn := tls.Server(oneWay{in: bytes.NewReader(raw)},
		&tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name, ok = h.ServerName, true
			return nil, stop
		}})
	_ = conn.Handshake() // fails by design
	return name, ok
}

// oneWay is a connection that ends after some bytes.
type oneWay struct {
	net.Conn
	in io.Reader
}

func (o oneWay) Read(p []byte) (int, error) { return o.in.Read(p) }
func (oneWay) Write(p []byte) (int, error)  { return len(p), nil }
func (oneWay) Close() error                 { return nil }
func (oneWay) SetDeadline(time.Time) error  { return nil }
