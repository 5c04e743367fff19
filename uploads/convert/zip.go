package convert

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
)

// archive is an opened container with a budget: what a part declares of its size is not
// believed.
type archive struct {
	files map[string]*zip.File
	left  int64
}

func openArchive(data []byte) (*archive, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, Damaged
	}
	if len(r.File) > maxParts {
		return nil, Limits
	}
	a := &archive{files: make(map[string]*zip.File, len(r.File)), left: maxAll}
	for _, f := range r.File {
		if f.Flags&1 != 0 {
			return nil, Encrypted
		}
		a.files[strings.TrimPrefix(f.Name, "/")] = f
	}
	return a, nil
}

func (a *archive) has(name string) bool { return a.files[name] != nil }

// read unpacks one part; one that is missing is empty.
func (a *archive) read(name string) ([]byte, error) {
	f := a.files[name]
	if f == nil {
		return nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, Damaged
	}
	defer r.Close()
	limit := min(a.left, maxPart)
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	a.left -= int64(len(b))
	switch {
	case int64(len(b)) > limit:
		return nil, Limits
	case err != nil:
		return nil, Damaged
	}
	return b, nil
}

// tree parses one part; one that is missing is an empty element.
func (a *archive) tree(name string) (*node, error) {
	b, err := a.read(name)
	if err != nil || b == nil {
		return &node{}, err
	}
	return parseXML(b)
}

// relations are the targets of a part's relations by their ids, and the parts by kind.
type relations struct{ byID, byKind map[string]string }

func (a *archive) relations(part string) (relations, error) {
	rel := relations{map[string]string{}, map[string]string{}}
	dir, base := path.Split(part)
	root, err := a.tree(dir + "_rels/" + base + ".rels")
	if err != nil {
		return rel, err
	}
	for _, r := range root.all("Relationship") {
		target := r.attr("Target")
		if r.attr("TargetMode") != "External" {
			if target = path.Clean(path.Join(dir, target)); path.IsAbs(r.attr("Target")) {
				target = strings.TrimPrefix(path.Clean(r.attr("Target")), "/")
			}
		}
		rel.byID[r.attr("Id")] = target
		rel.byKind[path.Base(r.attr("Type"))] = target
	}
	return rel, nil
}

// node is an element, or text if it has no name. Names are without their prefixes.
type node struct {
	name  string
	text  string
	attrs []xml.Attr
	kids  []*node
}

// parseXML reads a whole tree within limits. Entities of a document type are not expanded.
func parseXML(b []byte) (*node, error) {
	dec := xml.NewDecoder(bytes.NewReader(b))
	dec.Strict = false
	dec.CharsetReader = charset.NewReaderLabel
	root := &node{}
	stack := []*node{root}
	for count := 0; ; count++ {
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			if len(root.kids) == 0 {
				return nil, Damaged
			}
			return root, nil // what came before the damage
		}
		if count > maxNodes || len(stack) > maxDepth {
			return nil, Limits
		}
		top := stack[len(stack)-1]
		switch t := tok.(type) {
		case xml.StartElement:
			n := &node{name: t.Name.Local, attrs: t.Copy().Attr}
			top.kids = append(top.kids, n)
			stack = append(stack, n)
		case xml.EndElement:
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
		case xml.CharData:
			top.kids = append(top.kids, &node{text: string(t)})
		}
	}
}

// attr is an attribute by its name without the prefix, or with it where two would be meant.
func (n *node) attr(name string) string {
	space, local, prefixed := strings.Cut(name, ":")
	for _, a := range n.attrs {
		if prefixed && a.Name.Space == space && a.Name.Local == local || !prefixed && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// kid is the first child with a name; an empty element when there is none.
func (n *node) kid(names ...string) *node {
	for _, name := range names {
		next := &node{}
		for _, k := range n.kids {
			if k.name == name {
				next = k
				break
			}
		}
		n = next
	}
	return n
}

// all are the descendants with a name, in order, those inside of one another left out.
func (n *node) all(name string) (found []*node) {
	for _, k := range n.kids {
		if k.name == name {
			found = append(found, k)
			continue
		}
		found = append(found, k.all(name)...)
	}
	return found
}

// content is all text below.
func (n *node) content() string {
	if n.name == "" && n.text != "" {
		return n.text
	}
	var b strings.Builder
	for _, k := range n.kids {
		b.WriteString(k.content())
	}
	return b.String()
}

// office finds out which document a zip archive is.
func office(d *draft, data []byte) error {
	if bytes.HasPrefix(data, oleMagic) {
		return compound(d, data)
	}
	a, err := openArchive(data)
	if err != nil {
		return err
	}
	kind, err := a.read("mimetype")
	if err != nil {
		return err
	}
	switch {
	case a.has("word/document.xml"):
		return word(d, a)
	case a.has("ppt/presentation.xml"):
		return slides(d, a)
	case a.has("xl/workbook.xml"):
		return workbook(d, a)
	case a.has("META-INF/container.xml"):
		return book(d, a)
	case a.has("content.xml") && bytes.Contains(kind, []byte("opendocument")):
		return openDocument(d, a)
	}
	return Unsupported
}
