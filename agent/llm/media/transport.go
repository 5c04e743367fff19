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
)

type extraKey struct{}

// with adds fields that go-openai lacks to the JSON body of a call. Nil values are left out.
func with(ctx context.Context, fields map[string]any) context.Context {
	return context.WithValue(ctx, extraKey{}, fields)
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
