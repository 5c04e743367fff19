package tools_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"fawn/agent/tools"
)

func TestListHasNamesGroupsAndSchemas(t *testing.T) {
	k := newKit(t, nil)
	want := map[string]string{
		"ls": "file:read", "glob": "file:read", "grep": "file:read", "read_file": "file:read",
		"write_file": "file:write", "str_replace": "file:write", "list_uploaded_files": "file:read",
		"search_documents": "file:read", "present_files": "", "view_image": "file:read", "ask_clarification": "",
	}
	for _, tool := range k.list {
		if g, ok := want[tool.Name]; !ok || g != tool.Group || tool.Description == "" {
			t.Errorf("%s in group %q, %q", tool.Name, tool.Group, tool.Description)
		}
		delete(want, tool.Name)
		var s struct {
			Type       string
			Required   []string
			Properties map[string]struct{ Type, Description string }
		}
		if err := json.Unmarshal(tool.Schema, &s); err != nil || s.Type != "object" || len(s.Properties) == 0 {
			t.Errorf("%s: %v %s", tool.Name, err, tool.Schema)
		}
		for name, p := range s.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s.%s: %+v", tool.Name, name, p)
			}
		}
		if tool.Group != "" && tool.Name != "view_image" && (len(s.Required) == 0 || s.Required[0] != "description") {
			t.Errorf("%s requires %q", tool.Name, s.Required)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	const schema = `{"type":"object","properties":{"description":{"type":"string","description":"why you write this file, in a few words"},` +
		`"path":{"type":"string","description":"the file; absolute, or relative to /mnt/user-data/workspace"},` +
		`"content":{"type":"string","description":"the text to write"},` +
		`"append":{"type":"boolean","description":"add the text at the end instead of replacing the file; false if left out"}},` +
		`"required":["description","path","content"]}`
	if got := string(k.tool("write_file").Schema); got != schema {
		t.Errorf("got %s", got)
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	k := newKit(t, nil)
	for _, c := range []struct{ tool, args, want string }{
		{"ls", ``, `Error: argument "path" is missing`},
		{"ls", `{"path":null}`, `Error: argument "path" is missing`},
		{"ls", `{"path":5}`, `Error: argument "path" must be a string, not number`},
		{"ls", `{"path":"."`, `Error: the arguments are not a valid JSON object`},
		{"ls", `["."]`, `Error: the arguments are not a valid JSON object`},
		{"read_file", `{"path":"a","start_line":"x"}`, `Error: argument "start_line" must be an integer, not string`},
		{"write_file", `{"path":"a","content":"b","append":"yes"}`, `Error: argument "append" must be true or false, not string`},
		{"write_file", `{"path":"a"}`, `Error: argument "content" is missing`},
		{"present_files", `{}`, `Error: argument "filepaths" names no file`},
		{"present_files", `{"filepaths":{}}`, `Error: argument "filepaths" must be a list, not object`},
		{"ls", `{"path":".","extra":{"a":1}}`, `(empty)`},
	} {
		k.want(c.tool, c.args, c.want)
	}
}

func TestPathsOutsideAreRefused(t *testing.T) {
	k := newKit(t, nil)
	const only = "Error: only paths under /mnt/user-data/ and /mnt/skills/ are allowed"
	for _, c := range []struct{ path, want string }{
		{"/etc/passwd", only},
		{"/mnt/user-data-evil/x", only},
		{"../../../etc/passwd", "Error: Access denied: path traversal detected: only paths under /mnt/user-data/ and /mnt/skills/ are allowed"},
		{`a\u0000b`, "Error: the path contains a NUL byte"},
		{"", "Error: the path is empty"},
	} {
		k.want("ls", `{"path":"`+c.path+`"}`, c.want)
		k.want("read_file", `{"path":"`+c.path+`"}`, c.want)
		k.want("write_file", `{"path":"`+c.path+`","content":""}`, c.want)
		k.want("str_replace", `{"path":"`+c.path+`","old_str":"a","new_str":""}`, c.want)
		k.want("glob", `{"path":"`+c.path+`","pattern":"*"}`, c.want)
		k.want("grep", `{"path":"`+c.path+`","pattern":"x"}`, c.want)
	}
	k.want("write_file", `{"path":"/mnt/skills/a","content":""}`, "Error: /mnt/skills is read-only")
}

func TestLs(t *testing.T) {
	k := newKit(t, nil)
	k.put("workspace/b.txt", "")
	k.put("workspace/a/in.txt", "")
	k.put("workspace/a/deep/x", "")
	k.put("workspace/node_modules/x", "")
	k.put("workspace/line\nbreak", "")
	const w = "/mnt/user-data/workspace/"
	k.want("ls", `{"path":"."}`, w+"a/\n"+w+"a/deep/\n"+w+"a/in.txt\n"+w+"b.txt\n"+w+`line\nbreak`)
	k.want("ls", `{"path":"../workspace/a/deep"}`, w+"a/deep/x")
	k.want("ls", `{"path":"/mnt/user-data/outputs"}`, "(empty)")
	k.want("ls", `{"path":"nope"}`, "Error: Directory not found: nope")
	k.want("ls", `{"path":"b.txt"}`, "Error: Not a directory: b.txt")
	k.want("ls", `{"path":"b.txt/x"}`, "Error: Not a directory: b.txt/x")

	short := newKit(t, func(l *tools.Limits) { l.ListChars = 60 })
	short.put("workspace/a", "")
	short.put("workspace/b", "")
	short.put("workspace/c", "")
	short.want("ls", `{"path":"."}`,
		w+"a\n"+w+"b\n... [more left out to keep this short; ls a directory below it, or use glob]")
}

func TestGlob(t *testing.T) {
	k := newKit(t, nil)
	for _, p := range []string{"a.py", "src/a.py", "src/in/b.py", "src/c.ts"} {
		k.put("workspace/"+p, "")
	}
	const w = "/mnt/user-data/workspace/"
	k.want("glob", `{"path":".","pattern":"*.py"}`,
		"Found 3 paths under .\n1. "+w+"a.py\n2. "+w+"src/a.py\n3. "+w+"src/in/b.py")
	k.want("glob", `{"path":".","pattern":"src/**/*.py"}`,
		"Found 2 paths under .\n1. "+w+"src/a.py\n2. "+w+"src/in/b.py")
	k.want("glob", `{"path":".","pattern":"*.py","max_results":1}`,
		"Found 1 paths under . (showing first 1)\n1. "+w+"a.py")
	k.want("glob", `{"path":"/mnt/user-data/workspace","pattern":"in","include_dirs":true}`,
		"Found 1 paths under /mnt/user-data/workspace\n1. "+w+"src/in")
	k.want("glob", `{"path":"src","pattern":"*.md"}`, "No files matched under src")
	k.want("glob", `{"path":"no","pattern":"*"}`, "Error: Directory not found: no")
	k.want("glob", `{"path":".","pattern":"[a"}`,
		"Error: Invalid glob pattern: the pattern has an unclosed bracket or ends in a backslash")
	many := newKit(t, func(l *tools.Limits) { l.GlobResults = 2 })
	for i := range 5 {
		many.put(fmt.Sprintf("workspace/%d", i), "")
	}
	many.want("glob", `{"path":".","pattern":"*","max_results":100000}`,
		"Found 2 paths under . (showing first 2)\n1. "+w+"0\n2. "+w+"1")
}

func TestGrep(t *testing.T) {
	k := newKit(t, nil)
	k.put("workspace/a.txt", "one\ntwo (x)\nTWO\n")
	k.put("workspace/b.md", "two\n")
	k.put("workspace/bin", "two\x00")
	const w = "/mnt/user-data/workspace/"
	k.want("grep", `{"path":".","pattern":"^two"}`,
		"Found 3 matches under .\n"+w+"a.txt:2: two (x)\n"+w+"a.txt:3: TWO\n"+w+"b.md:1: two")
	k.want("grep", `{"path":".","pattern":"two","glob":"*.md"}`, "Found 1 matches under .\n"+w+"b.md:1: two")
	k.want("grep", `{"path":"a.txt","pattern":"(x)","literal":true}`,
		"Found 1 matches under a.txt\n"+w+"a.txt:2: two (x)")
	k.want("grep", `{"path":".","pattern":"TWO","case_sensitive":true}`, "Found 1 matches under .\n"+w+"a.txt:3: TWO")
	k.want("grep", `{"path":".","pattern":"two","max_results":1}`,
		"Found 1 matches under . (showing first 1)\n"+w+"a.txt:2: two (x)")
	k.want("grep", `{"path":".","pattern":"zzz"}`, "No matches found under .")
	k.want("grep", `{"path":".","pattern":"("}`, "Error: Invalid regex pattern: missing closing ): `(`")
	k.want("grep", `{"path":".","pattern":"x","glob":"["}`,
		"Error: Invalid glob pattern: the pattern has an unclosed bracket or ends in a backslash")
	k.want("grep", `{"path":"no","pattern":"x"}`, "Error: Path not found: no")
}

func TestReadFile(t *testing.T) {
	k := newKit(t, nil)
	k.put("workspace/a.txt", "one\r\ntwo\n\nfour")
	k.put("workspace/empty", "")
	k.put("workspace/latin", "caf\xe9\n")
	k.put("workspace/p.txt", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	k.put("workspace/page.html", "<!DOCTYPE html><html></html>")
	k.put("workspace/late", strings.Repeat("a", 9000)+"\x00")
	for _, c := range []struct{ args, want string }{
		{`"path":"a.txt"`, "one\r\ntwo\n\nfour"},
		{`"path":"/mnt/user-data/outputs/../workspace/a.txt","start_line":2,"end_line":3`, "two\n\n"},
		{`"path":"a.txt","start_line":4`, "four"},
		{`"path":"a.txt","end_line":1`, "one\r\n"},
		{`"path":"a.txt","start_line":3,"end_line":99`, "\nfour"},
		{`"path":"a.txt","start_line":5`, "(start_line exceeds file length)"},
		{`"path":"a.txt","start_line":0`, "(start_line must be >= 1)"},
		{`"path":"a.txt","end_line":0`, "(end_line must be >= 1)"},
		{`"path":"a.txt","start_line":3,"end_line":2`, "(start_line > end_line — no lines in range)"},
		{`"path":"empty"`, "(empty)"},
		{`"path":"latin"`, "caf\uFFFD\n"},
		{`"path":"late"`, strings.Repeat("a", 9000) + "\uFFFD"},
		{`"path":"page.html"`, "<!DOCTYPE html><html></html>"},
		{`"path":"no.txt"`, "Error: File not found: no.txt"},
		{`"path":"/mnt/user-data/workspace"`, "Error: Not a regular file (directories, pipes and devices cannot be used here): /mnt/user-data/workspace"},
		{`"path":"p.txt"`, "Error: p.txt is a binary file (image/png), not text. Use view_image for pictures, or a program in bash that knows the format."},
	} {
		k.want("read_file", "{"+c.args+"}", c.want)
	}
}

func TestReadFileIsCutWhereReadingCanGoOn(t *testing.T) {
	k := newKit(t, func(l *tools.Limits) { l.ReadChars = 10; l.ScanBytes = 1 << 20 })
	k.put("workspace/a", "ééé\nb\ncccccccccccccc\nd\n")
	k.want("read_file", `{"path":"a"}`,
		"ééé\nb\n... [truncated: lines 1 to 2 shown; read on with start_line=3 and end_line]")
	k.want("read_file", `{"path":"a","start_line":3}`,
		"cccccccccc\n... [truncated: line 3 is longer than 10 characters; read what follows it with start_line=4 and end_line]")
	k.want("read_file", `{"path":"a","start_line":4}`, "d\n")
	k.put("workspace/huge", strings.Repeat("x\n", 1<<19)+"end")
	k.want("read_file", `{"path":"huge","start_line":600000}`,
		"(start_line is beyond the first 1 MiB, which is all this tool reads; use grep or bash)")
	k.put("workspace/exact", strings.Repeat("x\n", 1<<19))
	k.want("read_file", `{"path":"exact","start_line":524288}`, "x\n")
	k.put("workspace/long", "a\n"+strings.Repeat("y", 200_000)+"\nz\n")
	k.want("read_file", `{"path":"long","start_line":3}`, "z\n")
	k.want("read_file", `{"path":"long","start_line":2}`,
		"yyyyyyyyyy\n... [truncated: line 2 is longer than 10 characters; read what follows it with start_line=3 and end_line]")
}

func TestWriteFile(t *testing.T) {
	k := newKit(t, func(l *tools.Limits) { l.WriteBytes = 10 })
	k.want("write_file", `{"description":"d","path":"new/a.txt","content":"one"}`, "OK")
	k.want("write_file", `{"path":"new/a.txt","content":"+two","append":true}`, "OK")
	if got := k.content("workspace/new/a.txt"); got != "one+two" {
		t.Errorf("content %q", got)
	}
	k.want("write_file", `{"path":"new/a.txt","content":"12345678901"}`,
		"Error: the content has 11 bytes, more than the 10 that one call can write to new/a.txt. Write the first part, then add the others with append set to true.")
	k.want("write_file", `{"path":"new/a.txt","content":"12345678901","append":true}`, "OK")
	k.want("write_file", `{"path":"new","content":""}`,
		"Error: Not a regular file (directories, pipes and devices cannot be used here): new")
	k.want("write_file", `{"path":"new/a.txt/b","content":""}`,
		"Error: write /mnt/user-data/workspace/new/a.txt/b: not a directory")
	any := newKit(t, func(l *tools.Limits) { l.WriteBytes = 0 })
	any.want("write_file", `{"path":"a","content":"`+strings.Repeat("x", 100_000)+`"}`, "OK")
}

func TestStrReplace(t *testing.T) {
	k := newKit(t, nil)
	k.put("workspace/a", "one two one\n")
	k.put("workspace/crlf", "a\r\nb\r\nc\r\n")
	k.put("workspace/bytes", "\xff one")
	k.want("str_replace", `{"path":"a","old_str":"two","new_str":"2"}`, "OK")
	k.want("str_replace", `{"path":"a","old_str":"one","new_str":"1"}`,
		"Error: String to replace occurs 2 times in file: a. Give more of the text around it, or set replace_all.")
	if got := k.content("workspace/a"); got != "one 2 one\n" {
		t.Errorf("content %q", got)
	}
	k.want("str_replace", `{"path":"a","old_str":"one","new_str":"1","replace_all":true}`, "OK")
	k.want("str_replace", `{"path":"a","old_str":"zzz","new_str":""}`, "Error: String to replace not found in file: a")
	k.want("str_replace", `{"path":"a","old_str":"","new_str":"x"}`, "OK")
	k.want("str_replace", `{"path":"no","old_str":"a","new_str":"x"}`, "Error: File not found: no")
	k.want("str_replace", `{"path":"crlf","old_str":"a\nb","new_str":"x\ny\nz"}`, "OK")
	k.want("str_replace", `{"path":"bytes","old_str":"one","new_str":"1"}`, "OK")
	if a, c, b := k.content("workspace/a"), k.content("workspace/crlf"), k.content("workspace/bytes"); a != "1 2 1\n" ||
		c != "x\r\ny\r\nz\r\nc\r\n" || b != "\xff 1" {
		t.Errorf("contents %q %q %q", a, c, b)
	}
	small := newKit(t, func(l *tools.Limits) { l.ScanBytes = 1 << 20 })
	small.put("workspace/large", strings.Repeat("x", 1<<20+1))
	small.want("str_replace", `{"path":"large","old_str":"x","new_str":"y"}`,
		"Error: large is larger than 1 MiB; change it with a program in bash")
	small.put("workspace/grow", strings.Repeat("x", 1<<20))
	small.want("str_replace", `{"path":"grow","old_str":"x","new_str":"yyyy","replace_all":true}`,
		"Error: grow would grow over 1 MiB")
}

func TestChangesOfOneFileAtTheSameTimeAreAllKept(t *testing.T) {
	k := newKit(t, nil)
	var all strings.Builder
	for i := range 40 {
		fmt.Fprintf(&all, "<%d>", i)
	}
	k.put("workspace/a", all.String())
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			path := []string{"a", "./a", "/mnt/user-data/workspace/a", "../workspace//a"}[i%4]
			k.want("str_replace", fmt.Sprintf(`{"path":%q,"old_str":"<%d>","new_str":"."}`, path, i), "OK")
		})
	}
	wg.Wait()
	if got := k.content("workspace/a"); got != strings.Repeat(".", 40) {
		t.Errorf("lost changes: %q", got)
	}
}

func TestPresentFilesIsAllOrNothing(t *testing.T) {
	k := newKit(t, nil)
	k.put("outputs/a.md", "x")
	k.put("outputs/d/b.md", "x")
	k.put("workspace/c.md", "x")
	for _, c := range []struct {
		args, want string
		shown      []string
	}{
		{`{"filepaths":["/mnt/user-data/outputs/a.md","../outputs/d/./b.md"]}`, "Successfully presented files", []string{"/mnt/user-data/outputs/a.md", "/mnt/user-data/outputs/d/b.md"}},
		{`{"file_paths":["/mnt/user-data/outputs/a.md"]}`, "Successfully presented files", []string{"/mnt/user-data/outputs/a.md"}},
		{`{"filepaths":"/mnt/user-data/outputs/a.md"}`, "Successfully presented files", []string{"/mnt/user-data/outputs/a.md"}},
		{`{"filepaths":["/mnt/user-data/outputs/a.md","/mnt/user-data/workspace/c.md"]}`, "Error: Only files in /mnt/user-data/outputs can be presented: /mnt/user-data/workspace/c.md", nil},
		{`{"filepaths":["/mnt/user-data/outputs"]}`, "Error: Only files in /mnt/user-data/outputs can be presented: /mnt/user-data/outputs", nil},
		{`{"filepaths":["/etc/passwd"]}`, "Error: Only files in /mnt/user-data/outputs can be presented: /etc/passwd", nil},
		{`{"filepaths":["/mnt/user-data/outputs/a.md","/mnt/user-data/outputs/no.md"]}`, "Error: File not found: /mnt/user-data/outputs/no.md", nil},
		{`{"filepaths":["/mnt/user-data/outputs/d"]}`, "Error: Not a regular file (directories, pipes and devices cannot be used here): /mnt/user-data/outputs/d", nil},
		{`{"filepaths":[]}`, `Error: argument "filepaths" names no file`, nil},
	} {
		k.want("present_files", c.args, c.want)
		if got := k.run("present_files", c.args).Patch.Artifacts; !slices.Equal(got, c.shown) {
			t.Errorf("%s: artifacts %q", c.args, got)
		}
	}
}
