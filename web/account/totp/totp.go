// Package totp implements the second step of signing in: the codes of authenticator apps (RFC 6238, with SHA-1, six
// digits and 30 seconds, which all apps support), and recovery codes.
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6238; HMAC does not depend on what is broken in SHA-1
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	period    = 30 // seconds
	digits    = 6
	modulus   = 1_000_000
	secretLen = 20 // bytes, the length of the hash

	// skew is the tolerance for a phone's clock, in periods.
	skew = 1

	// Recoveries is the number of recovery codes.
	Recoveries = 10
)

func encoding() *base32.Encoding { return base32.StdEncoding.WithPadding(base32.NoPadding) }

// NewSecret returns a new shared secret in the form that apps take.
func NewSecret() string {
	b := make([]byte, secretLen)
	rand.Read(b) //nolint:errcheck // never fails
	return encoding().EncodeToString(b)
}

// URI returns the text of the QR code scanned by apps. Apps show issuer and account.
func URI(secret, issuer, account string) string {
	label := url.PathEscape(issuer) + ":" + url.PathEscape(account)
	q := "secret=" + secret + "&issuer=" + url.QueryEscape(issuer) + "&algorithm=SHA1&digits=6&period=30"
	return "otpauth://totp/" + label + "?" + strings.ReplaceAll(q, "+", "%20")
}

// Check reports whether code is valid at a time, plus or minus one period, and returns its period. A code is valid
// once: last is the period of the last accepted one, and codes up to it are rejected.
func Check(secret, code string, at time.Time, last int64) (step int64, ok bool) {
	key, err := encoding().DecodeString(secret)
	code = Tidy(code)
	if err != nil || len(code) != digits {
		return 0, false
	}
	now := at.Unix() / period
	for s := now - skew; s <= now+skew; s++ {
		if s > last && subtle.ConstantTimeCompare([]byte(at6(key, s)), []byte(code)) == 1 {
			return s, true
		}
	}
	return 0, false
}

// Code returns the code of a secret at a time, as an app shows it. The error is about the secret.
func Code(secret string, at time.Time) (string, error) {
	key, err := encoding().DecodeString(secret)
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return at6(key, at.Unix()/period), nil
}

// at6 returns the code of a period: RFC 4226, section 5.3.
func at6(key []byte, step int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes everything
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
	return fmt.Sprintf("%06d", n%modulus)
}

// Tidy returns a code without the spaces and dashes that people type.
func Tidy(code string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '\u00a0', '\t':
			return -1
		}
		return r
	}, strings.TrimSpace(code))
}

// NewRecovery returns new recovery codes, in the form that people write down: ten letters and digits
// (50 bits) that are hard to confuse.
func NewRecovery() []string {
	const letters = "0123456789abcdefghjkmnpqrstvwxyz"
	out := make([]string, Recoveries)
	for i := range out {
		b := make([]byte, 10)
		rand.Read(b) //nolint:errcheck // never fails
		for j := range b {
			b[j] = letters[b[j]%32]
		}
		out[i] = string(b[:5]) + "-" + string(b[5:])
	}
	return out
}

// HashRecovery returns the stored form of a recovery code. The codes are random, so a plain hash can't be reversed.
func HashRecovery(code string) string {
	plain := strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.ToLower(Tidy(code)))
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:])
}

// IsRecovery reports whether an input has the form of a recovery code.
func IsRecovery(code string) bool { return len(Tidy(code)) == 10 }
