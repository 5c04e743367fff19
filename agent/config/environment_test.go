package config_test

import (
	"maps"
	"testing"

	"fawn/agent/config"
)

func TestParseEnv(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
		problems   int
	}{
		{"plain", "A=1\nB = two words \n", map[string]string{"A": "1", "B": "two words"}, 0},
		{"export", "export A=1\n", map[string]string{"A": "1"}, 0},
		{"comments and blanks", "# x\n\n  # y\nA=1 # z\nB=a#b\nC=#c\n", map[string]string{"A": "1", "B": "a#b", "C": ""}, 0},
		{"single quotes", `A='a "b" \n $X # c' # d`, map[string]string{"A": `a "b" \n $X # c`}, 0},
		{"double quotes", `A="a\n\"b\" \\ \$X \q"`, map[string]string{"A": "a\n\"b\" \\ $X \\q"}, 0},
		{"many lines", "A=\"x\ny\"\nB=1", map[string]string{"A": "x\ny", "B": "1"}, 0},
		{"windows", "\uFEFFA=1\r\nB=\"2\"\r\n", map[string]string{"A": "1", "B": "2"}, 0},
		{"last one counts", "A=1\nA=2\n", map[string]string{"A": "2"}, 0},
		{"equals in value", "A=b=c==\n", map[string]string{"A": "b=c=="}, 0},
		{"no expansion", "A=$HOME\n", map[string]string{"A": "$HOME"}, 0},
		{"empty", "A=\nB=''\n", map[string]string{"A": "", "B": ""}, 0},
		{"not a line", "hello\n1A=x\nB=1\n", map[string]string{"B": "1"}, 2},
		{"open quote", "A=\"x\nB=1\n", map[string]string{"B": "1"}, 1},
		{"after the quote", "A='x' y\n", map[string]string{"A": "x"}, 1},
		{"zero byte", "A=\x00\nB=1", map[string]string{"B": "1"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, problems := config.ParseEnv(".env", []byte(tt.text))
			if !maps.Equal(got, tt.want) || len(problems) != tt.problems {
				t.Errorf("got %q, %v; want %q, %d problems", got, problems, tt.want, tt.problems)
			}
		})
	}
}

func TestEnvProblemsNameTheLine(t *testing.T) {
	_, problems := config.ParseEnv("x/.env", []byte("A='1\n2'\nnonsense\n"))
	if len(problems) != 1 || problems[0].String() != "x/.env:3: the line is not NAME=value and is skipped" {
		t.Errorf("got %v", problems)
	}
}

func FuzzEnvRoundTrip(f *testing.F) {
	f.Add("A", "plain", "x='y\n")
	f.Add("B_1", "a\"b\\c$d\ne\t#f'", "A=\"\\")
	f.Fuzz(func(t *testing.T, name, value, text string) {
		config.ParseEnv(".env", []byte(text))
		written := config.FormatEnv(map[string]string{name: value})
		got, problems := config.ParseEnv(".env", written)
		if len(written) == 0 {
			return
		}
		if len(problems) != 0 || got[name] != value {
			t.Errorf("%q = %q came back as %q, %v (written %q)", name, value, got[name], problems, written)
		}
	})
}
