package convert

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Bytes is a text as messages keep it.
func utf16Bytes(s string) (b []byte) {
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func TestSendersAndRecipientsHaveTheirAddresses(t *testing.T) {
	recipient := func(kind byte) []byte {
		return append(make([]byte, 8), 3, 0, 0x15, 0x0C, 0, 0, 0, 0, kind, 0, 0, 0, 0, 0, 0, 0)
	}
	d := &draft{}
	err := outlookMessage(d, &compoundFile{streams: map[string][]byte{
		msgProperties:                                       make([]byte, 32),
		"__substg1.0_0037001F":                              utf16Bytes("Hello"),
		"__substg1.0_1000001F":                              utf16Bytes("Text."),
		"__substg1.0_0C1A001F":                              utf16Bytes("Ann"),
		"__substg1.0_0C1F001F":                              utf16Bytes("/O=ORG/CN=ANN"),
		"__substg1.0_007D001F":                              utf16Bytes("Received: from a\r\nFrom: \"Ann B\" <ann@example.org>\r\n"),
		"__substg1.0_0E04001F":                              utf16Bytes("Bob; Cid"),
		"__recip_version1.0_#00000000/" + msgProperties:     recipient(1),
		"__recip_version1.0_#00000000/__substg1.0_3001001F": utf16Bytes("Bob"),
		"__recip_version1.0_#00000000/__substg1.0_39FE001F": utf16Bytes("bob@example.org"),
		"__recip_version1.0_#00000000/__substg1.0_3003001F": utf16Bytes("/O=ORG/CN=BOB"),
		"__recip_version1.0_#00000001/" + msgProperties:     recipient(2),
		"__recip_version1.0_#00000001/__substg1.0_3001001F": utf16Bytes("cid@example.org"),
		"__recip_version1.0_#00000001/__substg1.0_3003001F": utf16Bytes("cid@example.org"),
	}}, "", 0)
	want := "# Hello\n\n- From: Ann B <ann@example.org>\n- To: Bob <bob@example.org>\n- Cc: cid@example.org\n\nText.\n"
	if got := strings.TrimLeft(d.text.String(), "\n"); err != nil || got != want {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, want, err)
	}
}
