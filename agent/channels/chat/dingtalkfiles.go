package chat

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Upload stores a file, and posts it then.
func (d *DingTalk) Upload(ctx context.Context, to Address, f File, _ string) (Ref, error) {
	kind := "file"
	if f.Image {
		kind = "image"
	}
	token, err := d.auth(ctx)
	if err != nil {
		return Ref{}, err
	}
	body, media, size, err := form(nil, "media", f)
	if err != nil {
		return Ref{}, err
	}
	defer body.Close()
	var r struct {
		Code int    `json:"errcode"`
		Msg  string `json:"errmsg"`
		ID   string `json:"media_id"`
	}
	at := d.media + "/media/upload?" + url.Values{"access_token": {token}, "type": {kind}}.Encode()
	upload := call{op: "upload", path: at, raw: body, kind: media, size: size, limit: transferFor,
		header: http.Header{}}
	if err := d.do(ctx, upload, &r); err != nil {
		return Ref{}, err
	}
	if r.Code != 0 || r.ID == "" {
		return Ref{}, &Refused{Reason: "upload: " + d.c.redact(r.Msg)}
	}
	if f.Image {
		return d.post(ctx, to, "sampleImageMsg", map[string]string{"photoURL": r.ID})
	}
	ending := cmp.Or(strings.TrimPrefix(path.Ext(f.Name), "."), "file")
	return d.post(ctx, to, "sampleFile", map[string]string{"mediaId": r.ID, "fileName": f.Name, "fileType": ending})
}

// Fetch requests the address of a file, and downloads it.
func (d *DingTalk) Fetch(ctx context.Context, f FileRef, w io.Writer) error {
	var at struct {
		URL string `json:"downloadUrl"`
	}
	body := map[string]string{"downloadCode": f.ID, "robotCode": d.cfg.ClientID}
	if err := d.call(ctx, "messageFiles", "/v1.0/robot/messageFiles/download", body, &at); err != nil {
		return err
	}
	return d.c.download(ctx, "download", at.URL, nil, w)
}
