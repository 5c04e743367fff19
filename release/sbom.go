package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"fawn/assets"
)

// The fields of CycloneDX 1.6 that are used.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Serial       string       `json:"serialNumber"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []licence  `json:"licenses,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	licence struct {
		License    *licenceID `json:"license,omitempty"`
		Expression string     `json:"expression,omitempty"`
	}
	licenceID struct {
		ID string `json:"id"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn,omitempty"`
	}
)

// parts writes a binary's SBOM: its modules and Go version as embedded in it, and its third-party files.
func (r release) parts(w io.Writer, p program) error {
	sum, err := digest(p.path)
	if err != nil {
		return err
	}
	licenses := map[string]string{}
	for _, n := range assets.Notices() {
		licenses[n.Name] = n.License
	}
	list := []component{{Type: "library", Ref: "std", Name: "std", Version: p.info.GoVersion,
		Licenses: terms(licenses["Go"]), PURL: purl("std", strings.TrimPrefix(p.info.GoVersion, "go"))}}
	modules := map[string]bool{"Go": true}
	for _, m := range p.info.Deps {
		modules[m.Path] = true
		c, err := library(m, licenses[m.Path])
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	for _, n := range assets.Notices() {
		if !modules[n.Name] && !strings.Contains(n.Name, "/") { // modules of other systems are not in this one
			list = append(list, component{Type: "library", Ref: "embedded:" + n.Name, Name: n.Name, Version: n.Version,
				Licenses: terms(n.License)})
		}
	}
	self := component{Type: "application", Ref: "fawn", Name: "fawn", Version: r.version, Licenses: terms("MIT"),
		Hashes:     []hash{{"SHA-256", hex.EncodeToString(sum)}},
		Properties: []property{{"fawn:os", p.system}, {"fawn:arch", p.arch}}}
	deps := []dependency{{Ref: self.Ref}}
	for _, c := range list {
		deps[0].On = append(deps[0].On, c.Ref)
		deps = append(deps, dependency{Ref: c.Ref})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(bom{Format: "CycloneDX", Spec: "1.6", Serial: serial(sum), Version: 1, Components: list,
		Metadata: metadata{r.time.Format(time.RFC3339), self}, Dependencies: deps})
}

// library returns a module as go.sum vouches for it.
func library(m *debug.Module, license string) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	c := component{Type: "library", Ref: m.Path + "@" + m.Version, Name: m.Path, Version: m.Version,
		PURL: purl(m.Path, m.Version), Licenses: terms(license)}
	if encoded, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		b, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return c, fmt.Errorf("the sum of %s: %w", m.Path, err)
		}
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(b)}}
	}
	return c, nil
}

func purl(path, version string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "pkg:golang/" + strings.Join(parts, "/") + "@" + url.PathEscape(version)
}

// terms returns the licences of a part, which all hold.
func terms(list string) []licence {
	switch {
	case list == "":
		return nil
	case strings.Contains(list, ", "):
		return []licence{{Expression: strings.ReplaceAll(list, ", ", " AND ")}}
	}
	return []licence{{License: &licenceID{list}}}
}

// serial names a list by the binary that it is about, as a UUID of version 8 (RFC 9562).
func serial(sum []byte) string {
	s := sha256.Sum256(append([]byte("fawn sbom "), sum...))
	u := s[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
