// Package ssotest is a small OpenID Connect service for tests: discovery, authorization with PKCE,
// tokens signed with RS256, and its keys.
package ssotest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Service signs in a fixed person. Set its fields before use, or under Set.
type Service struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu     sync.Mutex
	person map[string]any
	refuse string
	other  bool
	named  *string               // the issuer that answers name, "" for none
	codes  map[string]url.Values // codes of authorizations that were not used yet
}

// New starts a service. Claims are its tokens' claims about the person; close it when done.
func New(claims map[string]any) (*Service, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	s := &Service{key: key, person: claims, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.describe)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("GET /keys", s.keys)
	s.Server = httptest.NewServer(mux)
	return s, nil
}

// Person changes the claims about the person.
func (s *Service) Person(claims map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.person = claims
}

// Refuse makes the service redirect with an error; empty admits people again.
func (s *Service) Refuse(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = why
}

// OtherKey makes the service sign with an unpublished key.
func (s *Service) OtherKey(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = yes
}

// Named makes the service announce that its responses name it, and sets that name: "" omits it.
func (s *Service) Named(issuer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named = &issuer
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the test notices missing data
}

func (s *Service) describe(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"issuer": s.URL,
		"authorization_response_iss_parameter_supported": s.named != nil,
		"authorization_endpoint":                         s.URL + "/authorize",
		"token_endpoint":                                 s.URL + "/token", "jwks_uri": s.URL + "/keys", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}})
}

// authorize replaces the sign-in page: it redirects back at once.
func (s *Service) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Host == "" || q.Get("response_type") != "code" ||
		!strings.Contains(q.Get("scope"), "openid") {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := url.Values{"state": q["state"]}
	if s.named != nil && *s.named != "" {
		out.Set("iss", *s.named)
	}
	if s.refuse != "" {
		out.Set("error", s.refuse)
	} else {
		code := rand.Text()
		s.codes[code] = q
		out.Set("code", code)
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token takes a code once, from the client it was made for, with the verifier of its challenge.
func (s *Service) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	asked, ok := s.codes[r.FormValue("code")]
	delete(s.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	challenge := asked.Get("code_challenge")
	switch {
	case !ok, asked.Get("client_id") != id, secret != Secret, asked.Get("redirect_uri") != r.FormValue("redirect_uri"),
		challenge != "" && challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": s.URL, "aud": id, "exp": time.Now().Add(time.Minute).Unix(),
		"iat": time.Now().Unix()}
	if nonce := asked.Get("nonce"); nonce != "" {
		claims["nonce"] = nonce
	}
	maps.Copy(claims, s.person)
	reply(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 60,
		"id_token": s.sign(claims)})
}

// Secret is the secret of every client.
const Secret = "s3cret-of-the-client"

func (s *Service) sign(claims map[string]any) string {
	head, _ := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": "1"}) // plain maps always encode
	body, _ := json.Marshal(claims)
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(body)
	sum, key := sha256.Sum256([]byte(text)), s.key
	if s.other {
		key, _ = rsa.GenerateKey(rand.Reader, 2048) // a nil key fails loudly below
	}
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		return ""
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (s *Service) keys(w http.ResponseWriter, _ *http.Request) {
	e := big.NewInt(int64(s.key.E)).Bytes()
	reply(w, http.StatusOK, map[string]any{"keys": []map[string]string{{"kty": "RSA", "alg": "RS256", "use": "sig",
		"kid": "1", "n": base64.RawURLEncoding.EncodeToString(s.key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(e)}}})
}
