package skills

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxScanned limits the scanned part of a file, in bytes.
const maxScanned = 4 << 20

// rule is something that a file of a skill should not hold.
type rule struct {
	id   string
	sev  Severity // Bad refuses the skill, Warn and Hint only inform
	in   string   // suffixes of files; "" is all text
	find *regexp.Regexp
	text string
}

const (
	secretFiles = `(?:\.ssh/|\.aws/credentials|/etc/shadow|\.netrc|\.kube/config|id_rsa|id_ed25519)`
	senders     = `(?:\bcurl\b|\bwget\b|requests\.(?:post|put|get)|urlopen|httpx\.|\bnc\b|\bncat\b)`
)

// rules are compiled once.
var rules = sync.OnceValue(func() []rule {
	list := []struct{ id, sev, in, find, text string }{
		{"secret-private-key", "error", "", `-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----`, "holds a private key"},
		{"secret-cloud-token", "error", "",
			`\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|sk-ant-[A-Za-z0-9_-]{20,}|xox[abpr]-[A-Za-z0-9-]{20,}|AIza[0-9A-Za-z_-]{35})\b`,
			"holds a key of a service"},
		{"python-dynamic-exec", "error", ".py",
			`\b(?:exec|eval)\s*\(\s*(?:base64|codecs|zlib|marshal|__import__|requests|urllib|bytes\.fromhex)`,
			"runs code that is hidden or loaded"},
		{"python-shell-exec", "warning", ".py", `\bos\.(?:system|popen)\s*\(|\bshell\s*=\s*True\b`,
			"runs commands through a shell"},
		{"python-sensitive-exfil", "error", ".py", secretFiles + `.*` + senders + `|` + senders + `.*` + secretFiles,
			"sends secret files away"},
		{"python-env-dump-exfil", "error", ".py", senders + `.*\bos\.environ\b(?:\s*[,)]|\.copy)`,
			"sends all variables away"},
		{"python-reverse-shell", "error", ".py", `\bpty\.spawn\s*\(|\bos\.dup2\s*\(\s*\w+\.fileno\s*\(`,
			"opens a shell to another machine"},
		{"shell-reverse-shell", "error", "",
			`/dev/(?:tcp|udp)/[^\s/]+/|\b(?:nc|ncat)\b[^\n|;]*\s-[a-z]*e\b|\bmkfifo\b[^\n]*\|\s*(?:nc|ncat)\b`,
			"opens a shell to another machine"},
		{"shell-sensitive-exfil", "error",
			"", secretFiles +
				`[^\n]*\|\s*(?:curl|wget|nc|ncat)\b|\bcurl\b[^\n]*(?:-d|--data\S*|-F|-T|--upload-file)\s*\S*@?\S*` + secretFiles,
			"sends secret files away"},
		{"shell-env-dump-exfil", "error", "", `\b(?:env|printenv)\b\s*\|[^\n]*\b(?:curl|wget|nc|ncat)\b`,
			"sends all variables away"},
		{"network-cloud-metadata", "error", "", `169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200`,
			"asks a cloud for its keys"},
		{"resource-fork-bomb", "error", "", `:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:`, "stops the machine"},
		{"shell-curl-pipe-shell", "warning", "", `\b(?:curl|wget)\b[^\n|]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b`,
			"runs what it loads from the network"},
		{"shell-remove-all", "warning", "", `\brm\s+-[a-zA-Z]*r[a-zA-Z]*f?\s+(?:/|~)(?:\s|$)`, "deletes everything"},
		{"prompt-override", "warning", ".md .txt",
			`(?i)\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:previous|prior|earlier|above)\s+(?:instructions|rules|prompts)`,
			"asks the agent to drop its rules"},
	}
	out := make([]rule, len(list))
	for i, r := range list {
		out[i] = rule{r.id, Severity(r.sev), r.in, regexp.MustCompile(r.find), r.text}
	}
	return out
})

// scanFiles applies the rules to files below dir.
func scanFiles(fsys fs.FS, dir string, files []entry) (out []Finding, err error) {
	for _, f := range files {
		if !f.info.Mode().IsRegular() || len(out) >= maxFindings {
			continue
		}
		out = append(out, scanName(f.name)...)
		text, err := readHead(fsys, path.Join(dir, f.name), maxScanned)
		if err != nil {
			return nil, fmt.Errorf("read a skill: %s", reason(err))
		}
		if f.info.Size() > maxScanned {
			out = append(out, Finding{File: f.name, Severity: Hint, Text: "only the beginning was checked",
				Rule: "package-large-file"})
		}
		if bytes.IndexByte(text, 0) < 0 {
			out = append(out, scanText(f.name, string(text))...)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return weight(a) - weight(b) })
	return out[:min(len(out), maxFindings)], nil
}

func weight(f Finding) int { return slices.Index([]Severity{Bad, Warn, Hint}, f.Severity) }

func readHead(fsys fs.FS, name string, n int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// scanName checks the name of a file.
func scanName(name string) []Finding {
	base := strings.ToLower(path.Base(name))
	switch {
	case slices.Contains([]string{".env", ".netrc", ".npmrc", ".pypirc", "id_rsa", "id_ed25519", "credentials.json"},
		base):
		return []Finding{{File: name, Severity: Warn, Text: "may hold secrets", Rule: "package-hidden-sensitive-file"}}
	case slices.Contains([]string{".zip", ".skill", ".tar", ".gz", ".tgz", ".7z", ".rar", ".xz", ".bz2"},
		path.Ext(base)):
		return []Finding{{File: name, Severity: Warn, Text: "is an archive, whose files were not checked",
			Rule: "package-nested-archive"}}
	}
	return nil
}

// scanText finds each rule once in a file.
func scanText(name, text string) (out []Finding) {
	for _, r := range rules() {
		if r.in != "" && !slices.Contains(strings.Fields(r.in), strings.ToLower(path.Ext(name))) {
			continue
		}
		if at := r.find.FindStringIndex(text); at != nil {
			out = append(out, Finding{File: name, Line: 1 + strings.Count(text[:at[0]], "\n"), Severity: r.sev,
				Text: r.text, Rule: r.id})
		}
	}
	return out
}
