package convert_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/uploads/convert"
)

// old is a document of testdata, which LibreOffice wrote.
func old(t testing.TB, name string) []byte {
	t.Helper()
	packed := must.Get(os.ReadFile("testdata/" + name + ".gz"))(t)
	r := must.Get(gzip.NewReader(bytes.NewReader(packed)))(t)
	b := must.Get(io.ReadAll(r))(t)
	return b
}

func TestOldOfficeFiles(t *testing.T) {
	same(t, md(t, "old.doc", old(t, "old.doc")),
		"# Angebot für Zürich\n\nEs kostet 400 Franken. 这是中文。\n\n## Einzelheiten\n\n"+
			"| Teil | Preis |\n| --- | --- |\n| Bug |  |\n| Heck | 150 |\n\nEnde.\n")
	same(t, md(t, "old.xls", old(t, "old.xls")),
		"<!-- sheet 1 -->\n\n## Zahlen\n\n| Tag | Anteil | Summe | 私 |\n| --- | --- | --- | --- |\n"+
			"| 2026-03-09 | 25% | 3 | 12345.5 |\n\n<!-- sheet 2 -->\n\n## Geheim (hidden)\n\n| x |\n| --- |\n")
	same(t, md(t, "old.ppt", old(t, "old.ppt")),
		"<!-- slide 1 -->\n\n# Erste Folie\n\nPunkt eins\n\nПункт два\n\nNotes: Sag hallo.\n\n"+
			"<!-- slide 2 -->\n\n# Zweite Folie\n\nEnde\n")
}

func TestStreamsOfOldWorkbooksMayHaveNamesInCapitals(t *testing.T) {
	wide := func(s string) []byte { return []byte(strings.Join(strings.Split(s, ""), "\x00")) }
	book := bytes.ReplaceAll(old(t, "old.xls"), wide("Workbook"), wide("WORKBOOK"))
	if got := md(t, "a.xls", book); !strings.Contains(got, "## Zahlen") {
		t.Errorf("got\n%s", got)
	}
}

func TestDamagedOldOfficeFilesEndWithAReason(t *testing.T) {
	for _, name := range []string{"old.doc", "old.xls", "old.ppt"} {
		whole := old(t, name)
		for _, n := range []int{8, 512, 600, 1536, len(whole) / 2} {
			_, err := convert.Convert(name, whole[:n], nil)
			var why convert.Reason
			if err != nil && (!errors.As(err, &why) || why == convert.Crashed) {
				t.Errorf("%s cut to %d bytes: %v", name, n, err)
			}
		}
		// Chains of sectors that come back to themselves.
		loops := bytes.Clone(whole)
		for i := 512; i+4 <= len(loops); i += 4 {
			copy(loops[i:], []byte{1, 0, 0, 0})
		}
		if _, err := convert.Convert(name, loops, nil); err == nil || errors.Is(err, convert.Crashed) {
			t.Errorf("%s with loops: %v", name, err)
		}
	}
}
