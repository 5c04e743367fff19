package chat

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"testing"

	"fawn/agent/agenttest/must"
)

func TestFilesAreDecryptedHoweverTheyArrive(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	block := must.Get(aes.NewCipher(key))(t)
	for n := range 70 {
		plain := bytes.Repeat([]byte("x"), n)
		pad := mostPadding - n%mostPadding
		sealed := append(bytes.Clone(plain), bytes.Repeat([]byte{byte(pad)}, pad)...)
		cipher.NewCBCEncrypter(block, key[:aes.BlockSize]).CryptBlocks(sealed, sealed)
		var got bytes.Buffer
		d := must.Get(cbcDecrypter(&got, base64.StdEncoding.EncodeToString(key)))(t)
		for i := range sealed {
			must.Get(d.Write(sealed[i : i+1]))(t)
		}
		if err := d.Close(); err != nil || !bytes.Equal(got.Bytes(), plain) {
			t.Fatalf("%d bytes became %q, %v", n, got.Bytes(), err)
		}
	}
}

func FuzzDecrypt(f *testing.F) {
	f.Add("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY", []byte("0123456789abcdef"))
	f.Fuzz(func(t *testing.T, key string, b []byte) {
		var out bytes.Buffer
		if d, err := cbcDecrypter(&out, key); err == nil {
			_, _ = d.Write(b)
			_ = d.Close()
		}
		if out.Len() > 2*len(b) {
			t.Errorf("%d bytes became %d", len(b), out.Len())
		}
	})
}
