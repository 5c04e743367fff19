package skilltool_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/agent/skills/skilltool"
)

// infoOf is what the info command says of a file with the given content.
func infoOf(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.csv")
	must.Do(t, os.WriteFile(file, []byte(content), 0o600))
	var out, problems bytes.Buffer
	if code := skilltool.Run([]string{"info", file}, &out, &problems); code != 0 {
		t.Fatalf("exit %d: %s", code, problems.String())
	}
	return out.String()
}

func TestTextTablesOfOtherCountriesAreRead(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"Swedish", "Namn;Ort\r\n\xc5sa \xd6berg;\xd6stersund\r\n", "Åsa Öberg"},
		{"Polish", "Imi\xea;Miasto\r\n\xa3ukasz Wi\x9cniewski;\xa3\xf3d\x9f\r\n", "Łukasz Wiśniewski"},
		{"encoding", "Pr\xe9nom;Ville\r\n\xc9lise;Besan\xe7on\r\n", "read as windows-1252"},
		{"decimal comma", "Name;Betrag\n\"Müller; Söhne\";1.234,50\nZoë;99,90\n", "Betrag: numbers from 99.9 to 1234.5"},
		{"one decimal comma", "a\tb\nx\t-0,5\ny\t7\n", "b: numbers from -0.5 to 7"},
		{"thousands", "a;b\nx;1,234\ny;5,678\n", "b: numbers from 1234 to 5678"},
		{"words with commas", "a;b\nx;1,5\ny;no, thanks\n", "b: text"},
		{"Excel's line", "sep=;\r\nName;Sum\r\nA;1\r\n", "1 rows, 2 columns"},
		{"Excel's line with tabs", "SEP=\t\nName\tSum\nA\t1\n", "Name: text"},
	} {
		if got := infoOf(t, c.content); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		}
	}
}
