package passkey_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web/account/passkey"
	"fawn/web/webtest"
)

const origin = "https://fawn.example:8443"

// device is an authenticator with one passkey, as a browser presents it.
type device struct {
	*testing.T
	key     *ecdsa.PrivateKey
	id      []byte
	user    []byte
	origin  string
	host    string
	flags   byte // user present and verified
	counter uint32
}

func newDevice(t *testing.T) *device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	return &device{T: t, key: key, id: []byte("a credential of 16"), origin: origin, host: "fawn.example", flags: 0x05}
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (d *device) client(kind string, options []byte) []byte {
	d.Helper()
	var o struct{ Challenge string }
	if err := json.Unmarshal(options, &o); err != nil || o.Challenge == "" {
		d.Fatalf("options %s: %v", options, err)
	}
	b, err := json.Marshal(map[string]any{"type": kind, "challenge": o.Challenge, "origin": d.origin,
		"crossOrigin": false})
	must.Do(d, err)
	return b
}

func (d *device) data(flags byte) []byte {
	sum := sha256.Sum256([]byte(d.host))
	d.counter++
	return binary.BigEndian.AppendUint32(append(sum[:], flags), d.counter)
}

// bytesOf and textOf are short CBOR strings.
func bytesOf(b []byte) []byte {
	if len(b) < 256 {
		return append([]byte{0x58, byte(len(b))}, b...)
	}
	return append([]byte{0x59, byte(len(b) >> 8), byte(len(b))}, b...)
}

func textOf(s string) []byte { return append([]byte{0x60 + byte(len(s))}, s...) }

// create answers the options of a registration: attestation "none", an ES256 key.
func (d *device) create(options []byte) []byte {
	d.Helper()
	o := webtest.Decode[struct{ User struct{ ID string } }](d, string(options))
	var err error
	if d.user, err = base64.RawURLEncoding.DecodeString(o.User.ID); err != nil {
		d.Fatal(err)
	}
	point, err := d.key.PublicKey.Bytes()
	must.Do(d, err)
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21}, bytesOf(point[1:33])...)
	cose = append(append(cose, 0x22), bytesOf(point[33:])...)
	data := append(d.data(d.flags|0x40), make([]byte, 16)...)
	data = append(append(data, 0, byte(len(d.id))), d.id...)
	data = append(data, cose...)
	object := append([]byte{0xa3}, textOf("fmt")...)
	object = append(append(object, textOf("none")...), textOf("attStmt")...)
	object = append(append(object, 0xa0), textOf("authData")...)
	object = append(object, bytesOf(data)...)
	return d.answer(map[string]any{"clientDataJSON": text(d.client("webauthn.create", options)),
		"attestationObject": text(object)})
}

// get answers the options of a sign-in.
func (d *device) get(options []byte) []byte {
	d.Helper()
	client, data := d.client("webauthn.get", options), d.data(d.flags)
	sum := sha256.Sum256(client)
	signed := sha256.Sum256(append(append([]byte{}, data...), sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, signed[:])
	must.Do(d, err)
	return d.answer(map[string]any{"clientDataJSON": text(client), "authenticatorData": text(data),
		"signature": text(signature), "userHandle": text(d.user)})
}

func (d *device) answer(response map[string]any) []byte {
	b, err := json.Marshal(map[string]any{"id": text(d.id), "rawId": text(d.id), "type": "public-key",
		"response": response, "clientExtensionResults": map[string]any{}})
	must.Do(d, err)
	return b
}

func at(t *testing.T, origin string) *passkey.Site {
	t.Helper()
	s, err := passkey.At(origin, "Fawn")
	must.Do(t, err)
	return s
}

// registered is a user with the passkey of a device.
func registered(t *testing.T, d *device) passkey.User {
	t.Helper()
	u := passkey.User{ID: "ann", Email: "ann@example.org"}
	options, c, err := at(t, origin).BeginRegister(u)
	must.Do(t, err)
	key, err := at(t, origin).FinishRegister(u, c, d.create(options))
	must.Do(t, err)
	u.Keys = []passkey.Key{key}
	return u
}

func TestAPasskeySignsItsUserIn(t *testing.T) {
	d := newDevice(t)
	u := registered(t, d)
	find := func(id string) (passkey.User, error) {
		if id != "ann" {
			return passkey.User{}, passkey.ErrUnknown
		}
		return u, nil
	}
	site := at(t, origin)
	for range 2 { // the counter goes on
		options, c, err := site.BeginSignIn()
		must.Do(t, err)
		who, key, err := site.FinishSignIn(c, d.get(options), find)
		if err != nil || who.ID != "ann" || key.ID != u.Keys[0].ID {
			t.Fatalf("%+v, %v", who, err)
		}
		u.Keys[0] = key
	}
}

func TestWhichPasskeysAreRefused(t *testing.T) {
	d := newDevice(t)
	u := registered(t, d)
	ours := func(string) (passkey.User, error) { return u, nil }
	for name, one := range map[string]struct {
		change func(*device)
		find   func(string) (passkey.User, error)
		want   error
	}{
		"of another page":      {change: func(d *device) { d.origin = "https://evil.example" }, want: passkey.ErrRefused},
		"of another host":      {change: func(d *device) { d.host = "evil.example" }, want: passkey.ErrRefused},
		"of an unchecked user": {change: func(d *device) { d.flags = 0x01 }, want: passkey.ErrRefused},
		"of another key":       {change: func(d *device) { d.key = newDevice(t).key }, want: passkey.ErrRefused},
		"that were copied":     {change: func(d *device) { d.counter = 0 }, want: passkey.ErrRefused},
		"that nobody has":      {find: func(string) (passkey.User, error) { return passkey.User{}, passkey.ErrUnknown }, want: passkey.ErrUnknown},
		"that were removed":    {find: func(string) (passkey.User, error) { return passkey.User{ID: "ann"}, nil }, want: passkey.ErrRefused},
	} {
		other := *d
		other.counter = 9
		if one.change != nil {
			one.change(&other)
		}
		if one.find == nil {
			one.find = ours
		}
		site := at(t, origin)
		options, c, err := site.BeginSignIn()
		must.Do(t, err)
		if who, _, err := site.FinishSignIn(c, other.get(options), one.find); !errors.Is(err, one.want) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	site := at(t, origin)
	options, _, err := site.BeginSignIn()
	must.Do(t, err)
	_, other, err := site.BeginSignIn()
	must.Do(t, err)
	for _, c := range []passkey.Ceremony{other, nil, passkey.Ceremony("{}")} {
		if _, _, err := site.FinishSignIn(c, d.get(options), ours); !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("an answer to another question: %v", err)
		}
	}
	for _, garbage := range []string{"", "{}", "[]", `{"id":"x"}`} {
		if _, _, err := site.FinishSignIn(other, []byte(garbage), ours); !errors.Is(err, passkey.ErrRefused) {
			t.Errorf("%q: %v", garbage, err)
		}
	}
}

func TestWherePasskeysAre(t *testing.T) {
	for origin, ok := range map[string]bool{"https://fawn.example": true, "http://localhost:2026": true,
		"https://fawn.example:8443": true,
		"http://fawn.localhost":     true, "http://fawn.example": false, "https://127.0.0.1:2026": false,
		"https://[::1]:2026": false, "": false} {
		if _, err := passkey.At(origin, "Fawn"); (err == nil) != ok || err != nil && !errors.Is(err, passkey.ErrPlace) {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
