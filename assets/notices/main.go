// Command notices writes assets/notices.txt: every part of others that is built into the
// binary, with its version and the text of its licence. `make generate` runs it.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// part is something of others in the binary.
type part struct{ name, version, license, text string }

func main() {
	out, err := notices()
	if err == nil {
		err = os.WriteFile("assets/notices.txt", out, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// notices returns the whole file: a table, then the texts.
func notices() ([]byte, error) {
	parts, err := modules()
	if err != nil {
		return nil, err
	}
	more, err := vendored()
	if err != nil {
		return nil, err
	}
	parts = append(parts, more...)
	slices.SortFunc(parts, func(a,
		b part) int {
		return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name))
	})
	var table, texts bytes.Buffer
	for i := range parts {
		p := &parts[i]
		if p.license = classify(p.text); p.license == "" {
			return nil, fmt.Errorf("the licence of %s is not known", p.name)
		}
		fmt.Fprintf(&table, "%s\t%s\t%s\n", p.name, p.version, p.license)
		fmt.Fprintf(&texts, "\n%s\n%s %s (%s)\n\n%s\n", strings.Repeat("-", 78), p.name, p.version, p.license,
			strings.TrimSpace(p.text))
	}
	return []byte("Parts of others that are built into Fawn, and their licences.\n\n" + table.String() +
		texts.String()), nil
}

// phrases identify licenses.
var phrases = []struct{ phrase, license string }{
	{"SIL OPEN FONT LICENSE", "OFL-1.1"},
	{"Apache License Version 2.0", "Apache-2.0"},
	{"Permission is hereby granted, free of charge", "MIT"},
	{"Permission to use, copy, modify, and distribute this software for any", "ISC"},
	{"ISC License", "ISC"},
	{"Zero-Clause BSD", "0BSD"},
	{"Redistribution and use in source and binary forms", "BSD-3-Clause"},
}

// classify names the licenses in a text in order of appearance, if any.
func classify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	type hit struct {
		at      int
		license string
	}
	var hits []hit
	for _, p := range phrases {
		if at := strings.Index(text, p.phrase); at >= 0 {
			if p.license == "BSD-3-Clause" && !strings.Contains(text, "contributors may be used") &&
				!strings.Contains(text, "Neither the name") {
				p.license = "BSD-2-Clause"
			}
			hits = append(hits, hit{at, p.license})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return a.at - b.at })
	var names []string
	for _, h := range hits {
		names = append(names, h.license)
	}
	return strings.Join(names, ", ")
}

// modules returns Go's library and the modules of the binary on all target systems.
func modules() ([]part, error) {
	root, err := run(nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	text, err := licenses(strings.TrimSpace(root))
	if err != nil {
		return nil, err
	}
	parts, seen := []part{{name: "Go", version: "its standard library", text: text}}, map[string]bool{"": true}
	for _, system := range []string{"linux", "darwin", "windows"} {
		out, err := run([]string{"GOOS=" + system, "CGO_ENABLED=0"}, "list", "-deps", "-f",
			"{{with .Module}}{{if .Version}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(out, "\n") {
			if seen[line] {
				continue
			}
			seen[line] = true
			f := strings.Split(line, "\t")
			if text, err = licenses(f[2]); err != nil {
				return nil, err
			}
			parts = append(parts, part{name: f[0], version: f[1], text: text})
		}
	}
	return parts, nil
}

var isLicense = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)`)

// licenses returns the texts in a folder, the licence itself first.
func licenses(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, e := range entries {
		if e.Type().IsRegular() && isLicense.MatchString(e.Name()) {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return "", err
			}
			texts = append(texts, strings.ReplaceAll(string(b), "\r\n", "\n"))
		}
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("no licence in %s", dir)
	}
	return strings.Join(texts, "\n\n"), nil
}

func run(env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// bundled finds a script's notes about its bundled parts.
var bundled = regexp.MustCompile(`(?s)/\*! Bundled license information:.*?\*/`)

// vendored returns the files of others in this repository.
func vendored() ([]part, error) {
	mermaid, err := unpacked("assets/vendor/mermaid.js.gz")
	if err != nil {
		return nil, err
	}
	list := []struct {
		name, license string
		content       string // or the file
		version       string // pattern of its version; empty for none
	}{
		{"Hanken Grotesk, Newsreader, JetBrains Mono and STIX Two Math (fonts)", "assets/fonts/OFL.txt", "", ""},
		{"Lucide (icons)", "assets/img/lucide.LICENSE", "", ""},
		{"htmx", "assets/js/vendor/htmx.LICENSE", "assets/js/vendor/htmx.js", `version="([\d.]+)"`},
		{"Mermaid", "assets/vendor/mermaid.LICENSE", mermaid, `version:"(\d[1-9][\d.]+)"`},
		{"Temml", "views/mathml/temml.LICENSE", "views/mathml/temml.min.js", `version:"([\d.]+)"`},
		{"Chroma's lexers (colours of code)", "views/markdown/lexers/COPYING", "", ""},
	}
	var parts []part
	for _, l := range list {
		text, err := os.ReadFile(l.license)
		if err != nil {
			return nil, err
		}
		p := part{name: l.name, text: string(text)}
		if strings.HasPrefix(l.content, "assets/") || strings.HasPrefix(l.content, "views/") {
			b, err := os.ReadFile(l.content)
			if err != nil {
				return nil, err
			}
			l.content = string(b)
		}
		if l.version != "" {
			m := regexp.MustCompile(l.version).FindStringSubmatch(l.content)
			if m == nil {
				return nil, errors.New("the version of " + l.name + " is not found")
			}
			p.version = m[1]
		}
		for _, comment := range bundled.FindAllString(l.content, -1) {
			p.text += "\n\n" + comment
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func unpacked(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(zr)
	return string(b), err
}
