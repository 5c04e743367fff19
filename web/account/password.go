package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Cost of a hash. Each needs hashMemory KiB, so only few are computed at once.
const (
	hashMemory = 46 << 10 // KiB, unless Options say otherwise
	hashTime   = 1
	hashSalt   = 16
	hashSize   = 32
	hashSlots  = 2
	hashQueue  = 32 // waiters for a slot; further ones are rejected

	minPassword = 8
	maxPassword = 256 // characters
)

// hasher computes and compares argon2id hashes, few at once.
type hasher struct {
	memory  uint32 // KiB of a new hash
	slots   chan struct{}
	waiting atomic.Int32
	dummy   string // compared if there is no user, so that both cases take the same time
}

func newHasher(memory uint32) *hasher {
	memory = cmp.Or(memory, hashMemory)
	return &hasher{memory: memory, slots: make(chan struct{}, hashSlots),
		dummy: fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=1$%s$%s", memory, hashTime,
			base64.RawStdEncoding.EncodeToString(make([]byte, hashSalt)),
			base64.RawStdEncoding.EncodeToString(make([]byte, hashSize)))}
}

// slot waits until a hash may be made.
func (h *hasher) slot(ctx context.Context) (release func(), err error) {
	if h.waiting.Add(1) > hashQueue {
		h.waiting.Add(-1)
		return nil, ErrBusy
	}
	defer h.waiting.Add(-1)
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hash returns a password's hash with its parameters.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	if n := utf8.RuneCountInString(password); n < minPassword || n > maxPassword {
		return "", ErrPassword
	}
	release, err := h.slot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, hashSalt)
	rand.Read(salt)
	sum := argon2.IDKey([]byte(password), salt, hashTime, h.memory, 1, hashSize)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, h.memory, hashTime,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum)), nil
}

// matches reports whether a password matches a hash. An empty hash never matches, but takes as long.
func (h *hasher) matches(ctx context.Context, hash, password string) (bool, error) {
	if len(password) > maxPassword*utf8.UTFMax {
		return false, nil
	}
	none := hash == ""
	if none {
		hash = h.dummy
	}
	var memory, rounds uint32
	var lanes uint8
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false, fmt.Errorf("a stored password has an unknown format")
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &rounds, &lanes)
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	want, sumErr := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || saltErr != nil || sumErr != nil || memory > 1<<20 || rounds < 1 || rounds > 16 || lanes < 1 ||
		len(want) == 0 {
		return false, fmt.Errorf("a stored password has an unknown format")
	}
	release, err := h.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	got := argon2.IDKey([]byte(password), salt, rounds, memory, lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && !none, nil
}
