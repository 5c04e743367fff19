package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fawn/agent/llm/llmerr"
	"fawn/agent/llm/sse"
)

// maxRefusal limits the part of a refusal that is read, in bytes.
const maxRefusal = 64 << 10

// errBody marks a failure to read an answer.
var errBody = errors.New("read the answer")

// Refused returns the error in a response and closes its body; nil if the response may be an answer.
func Refused(resp *http.Response) *llmerr.Error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // unreadable is unknown
	good := resp.StatusCode >= 200 && resp.StatusCode < 300
	if good && kind != "text/html" {
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil && len(body) == 0 {
		body = []byte(http.StatusText(resp.StatusCode))
	}
	if good {
		from := "the server"
		if resp.Request != nil {
			from = resp.Request.URL.Host
		}
		return &llmerr.Error{Class: llmerr.ClassInvalid,
			Message: fmt.Sprintf("%s answered with a web page, not a model; is base_url right? %s",
				from, llmerr.ParseBody(body).Message)}
	}
	if to := resp.Header.Get("Location"); resp.StatusCode < 400 && to != "" {
		body = fmt.Appendf(nil, "the server redirects to %s; set base_url to the final address", to)
	}
	return llmerr.FromResponse(resp.StatusCode, resp.Header, body, time.Now())
}

// Whole reads an answer that is not streamed; streamed means that it is a stream, and nothing was read.
func Whole(resp *http.Response) (body []byte, streamed bool, err error) {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, true, nil
	}
	if body, err = io.ReadAll(io.LimitReader(resp.Body, sse.MaxEvent)); err != nil {
		return nil, false, Broken(err)
	}
	return body, false, nil
}

// Broken returns the error for an answer that couldn't be read to its end.
func Broken(err error) error { return fmt.Errorf("%w: %w", errBody, err) }

// Cut returns the error for a stream that stopped before its answer was complete.
func Cut() error {
	return &llmerr.Error{Class: llmerr.ClassNetwork,
		Message: "the provider closed the stream before the answer was complete", Err: llmerr.ErrCut}
}

// Garbled returns the error for a malformed event of a stream.
func Garbled(data []byte, err error) error {
	return &llmerr.Error{Class: llmerr.ClassNetwork, Message: "the provider sent a broken event: " +
		llmerr.ParseBody(data).Message, Err: errors.Join(llmerr.ErrGarbled, err)}
}

// Empty returns the error for an empty answer.
func Empty() error {
	return &llmerr.Error{Class: llmerr.ClassBusy, Message: "the provider sent an empty answer"}
}

// failure assigns any error its class.
func failure(err error) *llmerr.Error {
	if e := llmerr.Of(err); e != nil {
		return e
	}
	class := llmerr.ClassGeneric
	var address *url.Error
	switch {
	case errors.As(err, &address):
		if advice := untrusted(address.Err); advice != "" {
			return &llmerr.Error{Class: llmerr.ClassTrust,
				Message: fmt.Sprintf("%s: %s; %s", host(address.URL), address.Err, advice), Err: address.Err}
		}
		class, err = llmerr.ClassNetwork, address.Err
	case errors.Is(err, sse.ErrLong):
		return &llmerr.Error{Class: llmerr.ClassNetwork, Message: err.Error(), Err: errors.Join(llmerr.ErrGarbled, err)}
	case errors.Is(err, errBody):
		class, err = llmerr.ClassNetwork, errors.Join(err, llmerr.ErrCut)
	}
	return &llmerr.Error{Class: class, Message: strings.ReplaceAll(err.Error(), "\n", ": "), Err: err}
}

func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "the provider"
}

// untrusted returns advice for a rejected certificate, "" for other errors. Such a call isn't repeated: only a person
// can fix it.
func untrusted(err error) string {
	var (
		unknown  x509.UnknownAuthorityError
		other    x509.HostnameError
		invalid  x509.CertificateInvalidError
		roots    x509.SystemRootsError
		rejected *tls.CertificateVerificationError
		plain    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &other):
		return "the certificate is for another name: use a name it holds in base_url"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "check the clock of this machine; else the server needs a new certificate"
	case errors.As(err, &unknown), errors.As(err, &roots):
		return "if you trust the server, add the certificate of its authority to the system's, or name its file in SSL_CERT_FILE, and restart"
	case errors.As(err, &invalid), errors.As(err, &rejected):
		return "the server needs another certificate"
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak HTTPS there: is base_url http://, or on another port?"
	}
	return ""
}
