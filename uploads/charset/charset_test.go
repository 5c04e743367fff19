package charset_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/uploads/charset"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// encoder finds an encoding apart from the table under test.
func encoder(t testing.TB, name string) encoding.Encoding {
	t.Helper()
	switch name {
	case "UTF-16LE":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "UTF-16BE":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "UTF-32LE":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "UTF-32BE":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	e, err := ianaindex.IANA.Encoding(name)
	if err != nil || e == nil {
		t.Fatalf("no encoding %s: %v", name, err)
	}
	return e
}

// texts calls do with each text of the table in each of its encodings.
func texts(t testing.TB, do func(name, text string, data []byte)) {
	t.Helper()
	table := must.Get(os.ReadFile("testdata/texts.txt"))(t)
	var names []string
	for line := range strings.Lines(string(table)) {
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "# "); ok {
			names = strings.Fields(head)
			continue
		}
		for _, name := range names {
			b, err := encoder(t, name).NewEncoder().Bytes([]byte(line))
			if err != nil {
				if strings.HasPrefix(name, "windows") {
					t.Fatalf("%s in %s: %v", line, name, err)
				}
				continue // not all languages of a code page are in its cousins
			}
			do(name, line, b)
		}
	}
}

// The share of texts in each encoding that must be read as they were written. Most texts have
// two or three words; those of encodings that nobody uses any more may be taken for their successors.
func TestTextsInOldEncodingsAreRead(t *testing.T) {
	right, all := map[string]int{}, map[string]int{}
	texts(t, func(name, text string, data []byte) {
		all[name]++
		got, err := charset.Decode(data)
		if err == nil && got.String == text {
			right[name]++
		} else {
			t.Logf("%s: %q read as %s: %q", name, text, got.Encoding, got.String)
		}
	})
	sum, of := 0, 0
	for name, n := range all {
		t.Logf("%s: %d of %d", name, right[name], n)
		sum, of = sum+right[name], of+n
		least := 0.9
		if strings.HasPrefix(name, "ISO-8859") || strings.HasPrefix(name, "IBM85") || name == "macintosh" {
			least = 0.85
		}
		if float64(right[name]) < least*float64(n) {
			t.Errorf("%s: only %d of %d texts are read", name, right[name], n)
		}
	}
	t.Logf("all: %d of %d", sum, of)
}

func TestOneBadByteLeavesUTF8AsItIs(t *testing.T) {
	for _, text := range []string{"Zoë,Łódź\n", "東京\n", "Иван\n", "naïve café\n"} {
		data := bytes.Repeat([]byte(text), 40)
		data = append(data, "last \xff line\n"...)
		got, err := charset.Decode(data)
		if err != nil || got.Encoding != charset.UTF8 || got.Bad != 1 {
			t.Errorf("%q: %s, %d bad, %v", text, got.Encoding, got.Bad, err)
		}
		if want := strings.Repeat(text, 40) + "last \uFFFD line\n"; got.String != want {
			t.Errorf("%q became %q", text, got.String)
		}
	}
	// One mark of an old program in an otherwise plain text.
	if got, _ := charset.Decode([]byte("Zoë and a caf\xe9, naïve Łódź")); got.Encoding != charset.UTF8 {
		t.Errorf("read as %s", got.Encoding)
	}
}

func TestPicturesAndProgramsAreNoText(t *testing.T) {
	for _, data := range []string{"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00",
		"\x00", "\x00\x00\x00\x00", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"} {
		if got, err := charset.Decode([]byte(data)); !errors.Is(err, charset.ErrBinary) {
			t.Errorf("%q is read as %s: %q", data, got.Encoding, got.String)
		}
	}
}

func TestEveryNameCanBeChosen(t *testing.T) {
	for _, name := range charset.Names() {
		got, err := charset.As(name, []byte("plain"))
		if err != nil || got.Encoding != name {
			t.Errorf("%s: %v %+v", name, err, got)
		}
		if charset.Known(strings.ToLower(name)) != name {
			t.Errorf("%s isn't found in lower case", name)
		}
	}
	if _, err := charset.As("EBCDIC", nil); !errors.Is(err, charset.ErrName) || charset.Known("EBCDIC") != "" {
		t.Errorf("an unknown encoding: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	texts(f, func(_, _ string, data []byte) { f.Add(data) })
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := charset.Decode(data)
		if err == nil && charset.Known(got.Encoding) == "" {
			t.Errorf("unknown encoding %q", got.Encoding)
		}
	})
}
