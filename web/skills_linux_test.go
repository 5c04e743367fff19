package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/web"
	"fawn/web/webtest"
)

// put writes a file below the data folder.
func putFile(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(at), 0o700))
	must.Do(t, os.WriteFile(at, []byte(text), 0o600))
}

// TestSandboxesShowEnabledSkills with their nesting, to commands and to file tools; nobody can
// change them, links lead nowhere, and what is off is not there, also in a sandbox that runs.
func TestSandboxesShowEnabledSkills(t *testing.T) {
	t.Parallel()
	var data string
	skill := func(name string) string {
		return "---\nname: " + name + "\ndescription: d\n---\nText of " + name + "\n"
	}
	s := start(t, scripted(t), func(o *web.Options) {
		data = o.Data
		putFile(t, data, "skills/public/deep/er/paint/SKILL.md", skill("paint"))
		putFile(t, data, "skills/public/deep/er/paint/run.sh", "echo painted\n")
		putFile(t, data, "skills/custom/draw/SKILL.md", skill("draw"))
		putFile(t, data, "outside.txt", "do not read me")
		for name, to := range map[string]string{"abs": filepath.Join(data, "outside.txt"),
			"rel": "../../../outside.txt", "up": "../../.."} {
			must.Do(t, os.Symlink(to, filepath.Join(data, "skills/custom/draw", name)))
		}
	})
	s.sandboxed(t)
	read := func(path string) string {
		t.Helper()
		r := s.send(t, "POST", "/threads/box/runs/wait",
			`{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"SCRIPT{\"turns\":[{\"tool_calls\":[{\"name\":\"read_file\",\"args\":{\"path\":\"`+
				path+`\"}}]},{\"text\":\"done\"}]}"}]}}`)
		results := strings.Split(r.body, `"type":"tool"`)
		return results[len(results)-1] + results[len(results)-2]
	}
	got := s.bash(t, "box", "cd /mnt/skills && find . | sort && cat public/deep/er/paint/SKILL.md && bash public/deep/er/paint/run.sh",
		"cd /mnt/skills/custom/draw; for f in x SKILL.md ../x ../../public/x ../../x; do echo y >> $f; done; rm -rf /mnt/skills/custom; mv SKILL.md z; chmod 777 .; ln -s /etc x; mkdir new; ls -A; cat abs rel")
	want := ".\n./custom\n./custom/draw\n./custom/draw/SKILL.md\n./public\n./public/deep\n./public/deep/er\n./public/deep/er/paint\n./public/deep/er/paint/SKILL.md\n./public/deep/er/paint/run.sh\n"
	webtest.Holds(t, fmt.Sprintf("got , want %q", want), got[0], want)
	webtest.Holds(t, "the answer", got[0], "Text of paint", "painted")
	webtest.Holds(t, "the answer", got[1], "SKILL.md\n", "!do not read me", "!\nnew")
	for name, want := range map[string]string{"skills-shown/custom/draw/SKILL.md": skill("draw"),
		"skills/custom/draw/SKILL.md": skill("draw")} {
		if b, err := os.ReadFile(filepath.Join(data, name)); string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	webtest.Holds(t, "/mnt/skills/custom/draw/SKILL.md", read("/mnt/skills/custom/draw/SKILL.md"), "Text of draw")
	for _, path := range []string{"/mnt/skills/custom/draw/abs", "/mnt/skills/../../etc/passwd",
		"/mnt/skills/custom/draw/up/outside.txt"} {
		webtest.Holds(t, path, read(path), "!do not read me", "!root:", "Error")
	}
	putFile(t, data, "extensions_config.json", `{"skills":{"draw":{"enabled":false}}}`)
	got = s.bash(t, "box", "ls -R /mnt/skills; cat /mnt/skills/custom/draw/SKILL.md /mnt/skills.tmp/*/SKILL.md; exit 0")
	webtest.Holds(t, "the answer", got[0], "!draw:", "!Text of draw", "paint")
	webtest.Holds(t, "/mnt/skills/custom/draw/SKILL.md", read("/mnt/skills/custom/draw/SKILL.md"), "!Text of draw")
	if got := s.bash(t, "other", "ls /mnt/skills; exit 0"); strings.Contains(got[0], "custom") {
		t.Errorf("%q", got[0])
	}
}

// TestSkillsAreWhereTheOwnerSays, in prompts, for commands and for file tools, and at the usual place too.
func TestSkillsAreWhereTheOwnerSays(t *testing.T) {
	t.Parallel()
	s := start(t, scripted(t)+"skills: {container_path: /mnt/know-how}\n", func(o *web.Options) {
		putFile(t, o.Data, "skills/custom/draw/SKILL.md", "---\nname: draw\ndescription: d\n---\nText of draw\n")
	})
	s.sandboxed(t)
	r := s.send(t, "POST", "/threads/one/runs/wait",
		`{"assistant_id":"lead_agent","input":{"messages":[{"role":"user","content":"SCRIPT{\"turns\":[{\"tool_calls\":[{\"name\":\"read_file\",\"args\":{\"path\":\"/mnt/know-how/custom/draw/SKILL.md\"}},{\"name\":\"write_file\",\"args\":{\"path\":\"/mnt/know-how/x\",\"content\":\"x\"}}]},{\"text\":\"done\"}]}"}]}}`)
	r.holds(t, "the answer", "Text of draw", "read-only")
	got := s.bash(t, "one", "cat /mnt/know-how/custom/draw/SKILL.md; echo x >> /mnt/know-how/custom/draw/SKILL.md; cat /mnt/skills/custom/draw/SKILL.md")
	if strings.Count(got[0], "Text of draw") != 2 || strings.Contains(got[0], "draw\nx") {
		t.Errorf("%q", got[0])
	}
}
