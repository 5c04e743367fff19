package chat

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"io"
	"strings"
)

// mostPadding is how many bytes WeCom fills up to.
const mostPadding = 32

var errDecrypt = errors.New("the file cannot be decrypted")

// decrypter writes the plain text of what is written to it. Only Close knows whether it was whole.
type decrypter struct {
	w    io.Writer
	mode cipher.BlockMode
	held []byte
}

// cbcDecrypter is for AES-256-CBC whose first vector is a part of the key, as WeCom has it.
func cbcDecrypter(w io.Writer, key string) (*decrypter, error) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(key, "="))
	if err != nil || len(raw) != 32 {
		return nil, errDecrypt
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, errDecrypt
	}
	return &decrypter{w: w, mode: cipher.NewCBCDecrypter(block, raw[:aes.BlockSize])}, nil
}

// Write decrypts all but the end, which may be padding.
func (d *decrypter) Write(b []byte) (int, error) {
	d.held = append(d.held, b...)
	n := (len(d.held) - mostPadding) / aes.BlockSize * aes.BlockSize
	if n <= 0 {
		return len(b), nil
	}
	d.mode.CryptBlocks(d.held[:n], d.held[:n])
	_, err := d.w.Write(d.held[:n])
	d.held = append(d.held[:0], d.held[n:]...)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close writes the end without its padding.
func (d *decrypter) Close() error {
	if len(d.held) == 0 || len(d.held)%aes.BlockSize != 0 {
		return errDecrypt
	}
	d.mode.CryptBlocks(d.held, d.held)
	pad := int(d.held[len(d.held)-1])
	if pad == 0 || pad > mostPadding || pad > len(d.held) {
		return errDecrypt
	}
	_, err := d.w.Write(d.held[:len(d.held)-pad])
	return err
}
