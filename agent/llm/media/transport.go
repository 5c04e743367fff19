package media

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"fawn/agent/llm/wire"
)

type extraKey struct{}

// with adds fields that go-openai lacks to the JSON body of a call. Nil values are left out.
func with(ctx context.Context, fields map[string]any) context.Context {
	return context.WithValue(ctx, extraKey{}, fields)
}

// transport fixes requests of go-openai and limits the responses.
type transport struct {
	below   http.RoundTripper
	query   string
	secrets []string
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.RawQuery = t.query
	if r.Body != nil {
		body, kind, err := mended(r)
		if err != nil {
			return nil, err
		}
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Header.Set("Content-Type", kind)
	}
	resp, err := t.below.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if failed := wire.Refused(resp); failed != nil {
		failed.Redact(t.secrets)
		return nil, failed
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// mended returns the body with the fields of the call, or as a form without the empty fields that providers refuse.
func mended(r *http.Request) (body []byte, kind string, err error) {
	defer r.Body.Close()
	kind = r.Header.Get("Content-Type")
	name, params, _ := mime.ParseMediaType(kind)
	if strings.HasPrefix(name, "multipart/") {
		return withoutEmpty(multipart.NewReader(r.Body, params["boundary"]))
	}
	if body, err = io.ReadAll(r.Body); err != nil {
		return nil, "", err
	}
	extra, _ := r.Context().Value(extraKey{}).(map[string]any)
	var fields map[string]json.RawMessage
	for k, v := range extra {
		if v == nil {
			continue
		}
		if fields == nil {
			if err := json.Unmarshal(body, &fields); err != nil {
				return nil, "", err
			}
		}
		if fields[k], err = json.Marshal(v); err != nil {
			return nil, "", err
		}
	}
	if fields != nil {
		body, err = json.Marshal(fields)
	}
	return body, "application/json", err
}

func withoutEmpty(form *multipart.Reader) (body []byte, kind string, err error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			err = w.Close()
			return out.Bytes(), w.FormDataContentType(), err
		}
		if err != nil {
			return nil, "", err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, "", err
		}
		if len(data) == 0 && part.FileName() == "" {
			continue
		}
		to, err := w.CreatePart(part.Header)
		if err != nil {
			return nil, "", err
		}
		if _, err := to.Write(data); err != nil {
			return nil, "", err
		}
	}
}
