package chat

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"
)

// mostPadding is the block size that WeCom pads to.
const mostPadding = 32

var errDecrypt = errors.New("the file cannot be decrypted")

// decrypter decrypts everything written to it. Only Close reports whether the data was complete.
type decrypter struct {
	w    io.Writer
	mode cipher.BlockMode
	held []byte
}

// cbcDecrypter decrypts AES-256-CBC with a part of the key as the initial vector, as WeCom uses it.
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

// ecb is the mode in which WeChat keeps files: each block for itself.
type ecb struct {
	cipher.Block
	crypt func(dst, src []byte)
}

// CryptBlocks implements cipher.BlockMode.
func (e ecb) CryptBlocks(dst, src []byte) {
	for n := e.BlockSize(); len(src) >= n; dst, src = dst[n:], src[n:] {
		e.crypt(dst[:n], src[:n])
	}
}

// ecbDecrypter decrypts AES-128-ECB. The key is given in hexadecimal digits, or these digits or its bytes in base64.
func ecbDecrypter(w io.Writer, key string) (*decrypter, error) {
	raw, err := hex.DecodeString(key)
	if err != nil {
		if raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(key, "=")); err != nil {
			return nil, errDecrypt
		}
		if digits, err := hex.DecodeString(string(raw)); err == nil && len(digits) > 0 {
			raw = digits
		}
	}
	if len(raw) != 16 {
		return nil, errDecrypt
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, errDecrypt
	}
	return &decrypter{w: w, mode: ecb{block, block.Decrypt}}, nil
}

// ecbReader encrypts its input and pads the end.
type ecbReader struct {
	src   io.Reader
	block cipher.Block
	out   []byte // decrypted but unread
	end   bool
}

// Read implements io.Reader.
func (r *ecbReader) Read(b []byte) (int, error) {
	if len(r.out) == 0 {
		if r.end {
			return 0, io.EOF
		}
		buf := make([]byte, 32<<10, 32<<10+aes.BlockSize)
		n, err := io.ReadFull(r.src, buf)
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			pad := aes.BlockSize - n%aes.BlockSize
			buf, r.end = buf[:n], true
			for range pad {
				buf = append(buf, byte(pad))
			}
		default:
			return 0, err
		}
		ecb{r.block, r.block.Encrypt}.CryptBlocks(buf, buf)
		r.out = buf
	}
	n := copy(b, r.out)
	r.out = r.out[n:]
	return n, nil
}
