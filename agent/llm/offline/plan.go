package offline

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"fawn/agent"
	"fawn/memory"
)

// maxFiles limits the files of one turn.
const maxFiles = 5

// next selects the next step: find files, read them, write the report, show it, answer. Every step is derived from the
// conversation.
func (m *Model) next(ctx context.Context, req *agent.Request) (action, error) {
	c := read(req)
	if a := c.setup(); a != nil {
		return *a, nil
	}
	if command := c.command(); command != "" {
		return c.perform(command), nil
	}
	wishes, only := memory.Wishes(c.text)
	if only && len(c.fresh) == 0 {
		return action{text: c.noted(wishes)}, nil
	}
	if found := c.lookup(); found != nil {
		return *found, nil
	}
	var a action
	files := c.wanted()
	if len(files) == 0 && c.asksForWork() {
		found, asked := c.listed()
		if !asked && c.tools["ls"] {
			a.text = c.pick("Looking for files…", "正在查找文件…")
			a.call(c, "ls", map[string]any{"description": c.pick("find uploaded files", "查找上传的文件"), "path": uploads})
			return a, nil
		}
		c.known = found
		files = c.wanted()
	}
	if c.asksForWork() {
		if q := c.question(files); q != nil {
			return *q, nil
		}
	}
	if a := c.delegate(files); a != nil {
		return *a, nil
	}
	if len(files) == 0 || !c.tools["read_file"] && len(c.done) == 0 {
		if len(wishes) > 0 {
			return action{text: c.noted(wishes)}, nil
		}
		return action{text: m.introduce(ctx, c)}, nil
	}
	left := max(0, len(files)-maxFiles)
	files = files[:min(len(files), maxFiles)]

	docs := make([]document, len(files))
	for i, p := range files {
		var more []span
		docs[i], more = c.fetch(p)
		for _, s := range more {
			if len(a.calls) < 16 {
				a.read(c, docs[i].path, s)
			}
		}
	}
	if len(a.calls) > 0 {
		if !slices.ContainsFunc(c.done, func(s step) bool { return s.tool == "read_file" }) {
			a.text = fmt.Sprintf(c.pick("Reading %s…", "正在读取 %s…"), names(files))
		}
		return c.planned(a, files), nil
	}
	return c.planned(c.deliver(docs, left), files), nil
}

func (a *action) read(c *conversation, file string, s span) {
	args := map[string]any{"path": file, "description": fmt.Sprintf(c.pick("read %s", "读取 %s"), path.Base(file))}
	if s.from > 1 || s.to > 0 {
		args["start_line"] = s.from
		if s.to > 0 {
			args["end_line"] = s.to
			args["description"] = fmt.Sprintf(c.pick("read lines %d to %d", "读取第 %d 至 %d 行"), s.from, s.to)
		}
	}
	a.call(c, "read_file", args)
}

// fetch reads a file, or the Markdown version next to a document.
func (c *conversation) fetch(p string) (document, []span) {
	d, more := c.document(p, c.sizes[p])
	if d.problem == "" || d.lines > 0 {
		return d, more
	}
	switch ext := strings.ToLower(path.Ext(p)); ext {
	case ".pdf", ".docx", ".doc", ".pptx", ".ppt", ".xlsx", ".xls", ".odt", ".epub":
		beside, more := c.document(strings.TrimSuffix(p, path.Ext(p))+".md", 0)
		if beside.problem == "" {
			return beside, more
		}
	}
	return d, nil
}

func names(files []string) string {
	out := make([]string, len(files))
	for i, p := range files {
		out[i] = "`" + code(path.Base(p)) + "`"
	}
	return strings.Join(out, ", ")
}

func isTable(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".csv", ".tsv", ".tab", ".psv":
		return true
	}
	return false
}

// deliver writes and shows the report of tables, and answers.
func (c *conversation) deliver(docs []document, left int) action {
	var tables []analysis
	var parts []string
	describe := func(d document) {
		t := analyse(c, d)
		if t.drawn {
			t.svg = c.output("chart", len(tables), ".svg")
		}
		tables = append(tables, t)
		parts = append(parts, t.brief(c))
	}
	for _, d := range docs {
		switch {
		case d.problem != "" && d.lines == 0:
			parts = append(parts, fmt.Sprintf(c.pick("`%s` couldn't be read: %s", "无法读取 `%s`：%s"),
				code(path.Base(d.path)), quoteText(d.problem)))
		case isSheets(d.path):
			list, more := sheets(d)
			for _, sheet := range list {
				describe(sheet)
			}
			if len(list) == 0 {
				parts = append(parts, digest(c, d))
			}
			if more > 0 {
				parts = append(parts, fmt.Sprintf(c.pick("%d more sheets were skipped.", "另有 %d 个工作表未处理。"), more))
			}
		case isTable(d.path):
			describe(d)
		default:
			parts = append(parts, digest(c, d))
		}
	}
	if len(tables) > 0 {
		a, sentence := c.publish(tables)
		if len(a.calls) > 0 {
			return a
		}
		parts = append(parts, sentence)
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf(c.pick("%d more files were skipped. Name the ones you want.",
			"另有 %d 个文件未处理，请指明需要的文件。"), left))
	}
	parts = append(parts, c.pick("*Computed with fixed rules by the offline model, which isn't an AI. To ask about the meaning of your data, connect a model.*",
		"*以上由离线模型按固定规则计算，它不是 AI。如需理解数据的含义，请接入一个模型。*"))
	return action{text: strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")}
}

// output names a file without overwriting earlier turns' files.
func (c *conversation) output(stem string, nth int, ext string) string {
	if c.reports > 0 {
		stem += "-" + strconv.Itoa(c.reports+1)
	}
	if nth > 0 {
		stem += "-" + string(rune('a'+nth))
	}
	if c.sole != "" {
		return suffixed(stem+ext, c.sole)
	}
	return stem + ext
}

// publish writes the files, shows them, and then reports the outcome.
func (c *conversation) publish(tables []analysis) (action, string) {
	var a action
	files := []string{outputs + "/" + c.output("report", 0, ".md")}
	content := []string{report(c, tables)}
	for _, t := range tables {
		if t.drawn {
			files = append(files, outputs+"/"+t.svg)
			content = append(content, svg(t.chart, t.source(c)))
		}
	}
	var written []string
	var problems []string
	for i, f := range files {
		writes := func(s step) bool { return s.tool == "write_file" && s.args.Path == f }
		switch at := slices.IndexFunc(c.done, writes); {
		case at >= 0 && c.done[at].failed:
			problems = append(problems, quoteText(c.done[at].result))
		case at >= 0:
			written = append(written, f)
		case c.tools["write_file"]:
			a.call(c, "write_file", map[string]any{"description": fmt.Sprintf(c.pick("write %s", "写入 %s"), path.Base(f)),
				"path": f, "content": content[i]})
		}
	}
	if len(a.calls) > 0 {
		a.text = c.pick("Writing the report…", "正在撰写报告…")
		return a, ""
	}
	shown := slices.IndexFunc(c.done, func(s step) bool { return s.tool == "present_files" })
	if len(written) > 0 && shown < 0 && c.tools["present_files"] {
		a.call(c, "present_files", map[string]any{"filepaths": written})
		return a, ""
	}
	if shown >= 0 && c.done[shown].failed {
		problems = append(problems, quoteText(c.done[shown].result))
	}
	var said []string
	if len(written) > 0 {
		said = append(said, fmt.Sprintf(c.pick("Saved: %s.", "已保存：%s。"), names(written)))
	}
	if len(problems) > 0 {
		said = append(said, fmt.Sprintf(c.pick("Couldn't save everything: %s", "部分内容未能保存：%s"),
			strings.Join(problems, "; ")))
	}
	return a, strings.Join(said, " ")
}
