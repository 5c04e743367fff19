//go:build !nowechat

package chat

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Upload encrypts a file while sending it to WeChat's store, then posts it.
func (w *WeChat) Upload(ctx context.Context, to Address, f File, key string) (Ref, error) {
	if f.Size > weChatFile {
		return Ref{}, &Refused{Reason: f.Name + " is too large for WeChat."}
	}
	sum := md5.New()
	if err := readWhole(f, func(b []byte) error { _, err := sum.Write(b); return err }); err != nil {
		return Ref{}, err
	}
	var secret, name [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	_, _ = rand.Read(name[:])
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return Ref{}, fmt.Errorf("upload: %w", err)
	}
	kind, image := 3, f.Image && f.Size <= w.Limits().MaxImage
	if image {
		kind = 1
	}
	size := (f.Size/aes.BlockSize + 1) * aes.BlockSize
	digest, file := hex.EncodeToString(sum.Sum(nil)), hex.EncodeToString(name[:])
	var at struct {
		URL   string `json:"upload_full_url"`
		Query string `json:"upload_param"`
	}
	if err := w.call(ctx, "getuploadurl", map[string]any{"filekey": file, "media_type": kind, "to_user_id": to.Chat,
		"rawsize": f.Size, "rawfilemd5": digest, "filesize": size, "aeskey": hex.EncodeToString(secret[:]),
		"no_need_thumb": true},
		&at, 0); err != nil {
		return Ref{}, err
	}
	query, err := w.store(ctx, cmp.Or(at.URL, w.cdn+"/upload?"+url.Values{"encrypted_query_param": {at.Query},
		"filekey": {file}}.Encode()), f, block, size)
	if err != nil {
		return Ref{}, err
	}
	media := map[string]any{"encrypt_query_param": cmp.Or(query, at.Query), "encrypt_type": 1,
		"aes_key": base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(secret[:])))}
	if image {
		return w.send(ctx, to, key,
			map[string]any{"type": weChatImage, "image_item": map[string]any{"media": media, "mid_size": size}})
	}
	return w.send(ctx, to, key, map[string]any{"type": weChatDoc, "file_item": map[string]any{"media": media,
		"file_name": f.Name, "md5": digest, "len": strconv.FormatInt(f.Size, 10)}})
}

// store sends the bytes. The answer names how they are found again.
func (w *WeChat) store(ctx context.Context, address string, f File, block cipher.Block, size int64) (string, error) {
	if err := w.c.ownHost(address); err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, transferFor)
	defer cancel()
	src, err := f.Open()
	if err != nil {
		return "", fmt.Errorf("open %s: %w", f.Name, err)
	}
	defer src.Close()
	body := &ecbReader{src: io.LimitReader(src, f.Size), block: block}
	resp, err := w.c.open(ctx, call{op: "upload", method: http.MethodPost, path: address, raw: body, size: size,
		kind: "application/octet-stream"})
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return "", &statusError{op: "upload", Status: resp.StatusCode, Header: resp.Header}
	}
	return resp.Header.Get("X-Encrypted-Param"), nil
}
