package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// errSealed means that sealed data from a browser is forged, for another step, or expired.
var errSealed = errors.New("the value was changed, or is too old")

// sealer encrypts data that browsers keep between two steps of signing in, bound to the next step. The key lasts as
// long as the process, unless several servers share it.
type sealer struct {
	aead cipher.AEAD
	once func(hash string, until time.Time) bool // for several servers: spends it at all of them; nil for one
	now  func() time.Time

	mu   sync.Mutex
	used map[string]time.Time // used data until its expiry
}

func newSealer(key []byte, once func(hash string, until time.Time) bool, now func() time.Time) (*sealer, error) {
	if key == nil {
		key = make([]byte, 32)
		rand.Read(key) //nolint:errcheck // never fails
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead: aead, once: once, now: now, used: map[string]time.Time{}}, err
}

// envelope is the sealed data.
type envelope struct {
	Until time.Time       `json:"t"`
	What  json.RawMessage `json:"w"`
}

// seal encrypts v for a step, with an expiry.
func (s *sealer) seal(step string, v any, age time.Duration) (string, error) {
	what, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(envelope{s.now().Add(age), what})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, plain, []byte(step))), nil
}

// open decrypts data sealed for a step into v, or returns errSealed.
func (s *sealer) open(step, text string, v any) error {
	var e envelope
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errSealed
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(step))
	if err != nil || json.Unmarshal(plain, &e) != nil || s.now().After(e.Until) || json.Unmarshal(e.What, v) != nil {
		return errSealed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, was := s.used[text]; was {
		return errSealed
	}
	return nil
}

// spend invalidates sealed data. Only proofs of identity are spent, so the set stays small.
func (s *sealer) spend(text string, age time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for k, until := range s.used {
		if now.After(until) {
			delete(s.used, k)
		}
	}
	if _, was := s.used[text]; was {
		return false
	}
	s.used[text] = now.Add(age)
	if s.once == nil {
		return true
	}
	sum := sha256.Sum256([]byte(text))
	return s.once(hex.EncodeToString(sum[:]), now.Add(age))
}

// stepAge limits the duration of a sign-in step.
const stepAge = 10 * time.Minute

// keep stores v for a step in a cookie of the browser.
func (h *Handlers) keep(c echo.Context, step string, v any) error {
	text, err := h.sealed.seal(step, v, stepAge)
	if err != nil {
		return err
	}
	c.SetCookie(h.stepCookie(c, step, text, int(stepAge/time.Second)))
	return nil
}

// kept reads the browser's data for a step, repeatedly until spend is called.
func (h *Handlers) kept(c echo.Context, step string, v any) (spend func() bool, err error) {
	ck, err := c.Cookie(stepName(step))
	if err != nil {
		return nil, errSealed
	}
	if err := h.sealed.open(step, ck.Value, v); err != nil {
		return nil, err
	}
	return func() bool {
		c.SetCookie(h.stepCookie(c, step, "", -1))
		return h.sealed.spend(ck.Value, stepAge)
	}, nil
}

func stepName(step string) string { return "fawn_" + step }

func (h *Handlers) stepCookie(c echo.Context, step, value string, age int) *http.Cookie {
	return &http.Cookie{Name: stepName(step), Value: value, Path: "/", MaxAge: age, HttpOnly: true,
		Secure: secure(c.Request()), SameSite: http.SameSiteLaxMode}
}
