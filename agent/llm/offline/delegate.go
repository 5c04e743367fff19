package offline

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	taskTool   = "task"
	maxHelpers = 3 // helpers started by one answer
)

// delegate gives each of several files to a separate helper, then joins their reports. It returns nil without helpers
// or with a single file.
func (c *conversation) delegate(files []string) *action {
	sent := slices.ContainsFunc(c.done, func(s step) bool { return s.tool == taskTool })
	if len(files) < 2 || !c.tools[taskTool] && !sent {
		return nil
	}
	left := max(0, len(files)-maxFiles)
	files = files[:len(files)-left]
	var a action
	var items, parts, made []string
	for _, p := range files {
		items = append(items, c.pick("Analyse ", "分析 ")+names([]string{p}))
		at := slices.IndexFunc(c.done, func(s step) bool { return s.tool == taskTool && s.args.Prompt == c.job(p) })
		switch {
		case at >= 0:
			report := c.done[at].result
			if _, rest, ok := strings.Cut(report, "Result: "); ok && !c.done[at].failed {
				report = strings.TrimSpace(rest)
				for _, f := range []string{suffixed("report.md", p), suffixed("chart.svg", p)} {
					if strings.Contains(report, "`"+code(f)+"`") {
						made = append(made, outputs+"/"+f)
					}
				}
			} else {
				report = quoteText(report)
			}
			parts = append(parts, "## "+names([]string{p})+"\n\n"+report)
		case c.tools[taskTool] && len(a.calls) < maxHelpers:
			a.call(c, taskTool, map[string]any{"description": c.pick("Analyse ", "分析 ") + path.Base(p),
				"prompt": c.job(p), "subagent_type": "general-purpose"})
		}
	}
	items = append(items, c.pick("Join the results", "汇总结果"))
	done, working := len(parts), max(1, len(a.calls))
	shared := slices.ContainsFunc(c.done, func(s step) bool { return s.tool == "present_files" })
	switch {
	case len(a.calls) > 0:
		if done == 0 {
			a.text = fmt.Sprintf(c.pick("Sending a helper for each of %s…", "正在为 %s 各派一名助手…"), names(files))
		}
	case len(made) > 0 && !shared && c.tools["present_files"]:
		a.call(c, "present_files", map[string]any{"filepaths": made})
	default:
		if left > 0 {
			parts = append(parts, fmt.Sprintf(c.pick("%d more files were skipped. Name the ones you want.",
				"另有 %d 个文件未处理，请指明需要的文件。"), left))
		}
		a.text, done = strings.Join(parts, "\n\n"), len(items)
	}
	a = c.plan(a, items, done, working)
	return &a
}

// job returns a helper's task for one file.
func (c *conversation) job(file string) string {
	return fmt.Sprintf(c.pick("Analyse the file %s and report what is in it.", "分析文件 %s，并报告其内容。"), file)
}

// suffixed names an output after the file it is about.
func suffixed(name, file string) string {
	base := path.Base(file)
	return strings.TrimSuffix(name, path.Ext(name)) + "-" + strings.TrimSuffix(base, path.Ext(base)) + path.Ext(name)
}
