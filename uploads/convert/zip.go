package convert

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// archive is an open container with a size budget, which doesn't rely on declared sizes.
type archive struct {
	files map[string]*zip.File
	other map[string]*zip.File // by lower-case names
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
	a := &archive{files: make(map[string]*zip.File, len(r.File)), other: make(map[string]*zip.File, len(r.File)),
		left: maxAll}
	for _, f := range r.File {
		if f.Flags&1 != 0 {
			return nil, Encrypted
		}
		name := strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/")
		a.files[name], a.other[strings.ToLower(name)] = f, f
	}
	return a, nil
}

func (a *archive) has(name string) bool { return a.files[name] != nil }

// find finds a part ignoring case: programs on case-insensitive systems vary the names.
func (a *archive) find(name string) *zip.File {
	if f := a.files[name]; f != nil {
		return f
	}
	return a.other[strings.ToLower(name)]
}

// read unpacks one part; a missing one is empty.
func (a *archive) read(name string) ([]byte, error) {
	f := a.find(name)
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

// tree parses one part; a missing one is an empty element.
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
		target := strings.ReplaceAll(r.attr("Target"), `\`, "/")
		if r.attr("TargetMode") != "External" {
			if !path.IsAbs(target) {
				target = "/" + dir + target
			}
			target = strings.TrimPrefix(path.Clean(target), "/")
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
	dec := xml.NewDecoder(transform.NewReader(bytes.NewReader(b), unicode.BOMOverride(transform.Nop)))
	dec.Strict = false
	dec.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return r, nil // decoded by its byte order mark
		}
		return charset.NewReaderLabel(label, r)
	}
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
			return root, nil // the content before the damage
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

// attr returns an attribute by its name without the prefix, or with it where two would be meant.
func (n *node) attr(name string) string {
	space, local, prefixed := strings.Cut(name, ":")
	for _, a := range n.attrs {
		if prefixed && a.Name.Space == space && a.Name.Local == local || !prefixed && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number returns a small number of an attribute; nonsense is 0.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// kid returns the first child with one of the names; an empty element if there is none.
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

// named returns the children with a name.
func (n *node) named(name string) (found []*node) {
	for _, k := range n.kids {
		if k.name == name {
			found = append(found, k)
		}
	}
	return found
}

// all returns the descendants with a name, in order, excluding nested ones.
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

// orChoice returns the first alternative, which the newest programs show, or n without alternatives.
func (n *node) orChoice() *node {
	if c := n.kid("Choice"); c.name != "" {
		return c
	}
	return n
}

// content returns all text below.
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
	main, root, err := a.main()
	if err != nil {
		return err
	}
	switch {
	case root == "document":
		return word(d, a, main)
	case root == "presentation":
		return slides(d, a, main)
	case path.Ext(main) == ".bin":
		return BinaryBook
	case root == "workbook":
		return workbookOf(d, a)
	case a.has("META-INF/container.xml"):
		return book(d, a)
	case a.has("content.xml") && bytes.Contains(kind, []byte("opendocument")):
		return openDocument(d, a)
	}
	return Unsupported
}

// main finds the part of an Office document with which it begins, and the name of its root: by the
// relation of the whole, or else by the name that it usually has.
func (a *archive) main() (part, root string, err error) {
	rel, err := a.relations("")
	if err != nil {
		return "", "", err
	}
	for _, name := range []string{rel.byKind["officeDocument"], "word/document.xml", "ppt/presentation.xml",
		"xl/workbook.xml"} {
		if f := a.find(name); f != nil {
			r, err := f.Open()
			if err != nil {
				return "", "", Damaged
			}
			defer r.Close()
			head := make([]byte, 4<<10)
			n, err := io.ReadFull(r, head)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				return "", "", Damaged
			}
			if root = rootOf(head[:n]); root != "" {
				return name, root, nil
			}
			return name, map[string]string{"word": "document", "ppt": "presentation", "xl": "workbook"}[path.Dir(name)], nil
		}
	}
	return "", "", nil
}

// rootOf returns the name of the element with which XML begins.
func rootOf(head []byte) string {
	dec := xml.NewDecoder(transform.NewReader(bytes.NewReader(head), unicode.BOMOverride(transform.Nop)))
	dec.Strict = false
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		tok, err := dec.RawToken()
		if err != nil {
			return ""
		}
		if e, ok := tok.(xml.StartElement); ok {
			return e.Name.Local
		}
	}
}
