package providers_test

import (
	"path/filepath"
	"strings"
	"testing"

	"fawn/sandbox"
	"fawn/sandbox/files"
)

func TestPlainCommandsUseVirtualPaths(t *testing.T) {
	skills := openDir(t)
	mustWrite(t, filepath.Join(skills, "tool/run.sh"), "echo skill $1\n")
	w := newPlainWorld(t, func(c *sandbox.Config) {
		c.Dirs.Mounts = []files.Mount{{Path: files.Skills + "/public", Dir: skills}}
	})
	s := w.thread("a")
	if s.ID() != "landlock:a" || s.Paths().Identity() {
		t.Errorf("%s, identity %v", s.ID(), s.Paths().Identity())
	}
	for name, c := range map[string]struct {
		req  sandbox.ExecReq
		want string
	}{
		"folders":       {sandbox.ExecReq{Command: "pwd; cd /mnt/user-data/outputs && pwd; cd && pwd; cd /tmp && pwd; echo $HOME $TMPDIR"}, "/mnt/user-data/workspace\n/mnt/user-data/outputs\n/home/agent\n/tmp\n/home/agent /tmp\n"},
		"files":         {sandbox.ExecReq{Command: "echo hi > '/mnt/user-data/workspace/a b' && cat \"/mnt/user-data/workspace/a b\" && ls /mnt/user-data"}, "hi\noutputs\nuploads\nworkspace\n"},
		"assignment":    {sandbox.ExecReq{Command: "x=/mnt/user-data/outputs; echo in > $x/f; cat ${x}/f; realpath $x"}, "in\n/mnt/user-data/outputs\n"},
		"here-document": {sandbox.ExecReq{Command: "cat > x.py <<'E'\nimport os\nopen('/mnt/user-data/outputs/py', 'w').write('py')\nprint(os.listdir('/mnt/user-data/outputs'), os.path.exists('/mnt/user-data-evil'), os.getcwd())\nE\nrm -f ../outputs/*; python3 x.py"}, "['py'] False /mnt/user-data/workspace\n"},
		"arguments":     {sandbox.ExecReq{Command: `echo "$1"; cd "$1" && pwd; echo $2`, Args: []string{"/mnt/user-data/uploads", "/mnt/user-data-evil"}}, "/mnt/user-data/uploads\n/mnt/user-data/uploads\n/mnt/user-data-evil\n"},
		"variables":     {sandbox.ExecReq{Command: `cd "$P" && pwd; echo $Q`, Env: map[string]string{"P": "/mnt/user-data/uploads", "Q": "a:/mnt/skills/public:/tmp"}}, "/mnt/user-data/uploads\na:/mnt/skills/public:/tmp\n"},
		"folder":        {sandbox.ExecReq{Command: "pwd", Cwd: "/mnt/user-data/outputs"}, "/mnt/user-data/outputs\n"},
		"skills":        {sandbox.ExecReq{Command: "bash /mnt/skills/public/tool/run.sh 1; touch /mnt/skills/public/x 2>&1"}, "skill 1\ntouch: cannot touch '/mnt/skills/public/x': Permission denied\n"},
		"errors":        {sandbox.ExecReq{Command: "cat /mnt/user-data/workspace/none /mnt/skills/public/none 2>&1"}, "cat: /mnt/user-data/workspace/none: No such file or directory\ncat: /mnt/skills/public/none: No such file or directory\n"},
		"others":        {sandbox.ExecReq{Command: "echo /mnt/user-data-evil /x/mnt/user-data $HOME/mnt/user-data"}, "/mnt/user-data-evil /x/mnt/user-data /home/agent/mnt/user-data\n"},
		"long":          {sandbox.ExecReq{Command: "#" + strings.Repeat("x", 200<<10) + "\ncd /mnt/user-data/uploads; pwd; cat", Stdin: []byte("/mnt/user-data is not translated in here\n")}, "/mnt/user-data/uploads\n/mnt/user-data is not translated in here\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var streamed strings.Builder
			c.req.OnOutput = func(_ sandbox.Stream, b []byte) { streamed.Write(b) }
			res := do(t, s, c.req)
			if string(res.Output) != c.want || streamed.String() != c.want {
				t.Errorf("%q, streamed %q, want %q", res.Output, streamed.String(), c.want)
			}
			noted := strings.Contains(strings.Join(res.Notes, "\n"), "path translation active")
			if noted != strings.Contains(strings.ReplaceAll(strings.ReplaceAll(c.req.Command, "-evil", ""), "DATA", ""),
				"/mnt/") && name != "others" {
				t.Errorf("notes %q", res.Notes)
			}
		})
	}
	// A folder that is not there is named as the model knows it.
	res := do(t, s, sandbox.ExecReq{Command: "true", Cwd: "/mnt/user-data/workspace/none"})
	notes := strings.Join(res.Notes, "\n")
	if !strings.Contains(notes, "there is no folder /mnt/user-data/workspace/none") ||
		strings.Contains(notes, w.cfg.Dirs.Root) {
		t.Errorf("%q", notes)
	}
}
