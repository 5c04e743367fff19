package attack_test

import (
	"strings"
	"testing"
)

// withPaths are attacks by the paths given to tools for files. PLACE/ is the folder outside
// and DATA/ the data folder.
func withPaths() (all []attack) {
	for name, path := range map[string]string{
		"absolute":             "PLACE/secret",
		"system file":          "/etc/passwd",
		"environment":          "/proc/self/environ",
		"root of a process":    "/proc/self/rootPLACE/secret",
		"descriptor":           "/proc/self/fd/0",
		"up from user data":    "/mnt/user-data/../../PLACE/secret",
		"up from workspace":    "/mnt/user-data/workspace/../../../../../../../../PLACE/secret",
		"up, relative":         "../../../../../../../../../../PLACE/secret",
		"another thread":       "DATA/threads/victim/user-data/workspace/private",
		"another thread, up":   "../../../victim/user-data/workspace/private",
		"settings":             "DATA/secrets.env",
		"above user data":      "/mnt/user-data/../sandbox/home/x",
		"folder itself":        "/mnt/user-data/..",
		"prefix that is none":  "/mnt/user-data-evil/../user-data/../../secret",
		"null byte":            "/mnt/user-data/workspace/x\x00/../../../../PLACE/secret",
		"null byte at the end": "PLACE/secret\x00.png",
		"percent":              "/mnt/user-data/%2e%2e/%2e%2e/PLACE/secret",
		"backslashes":          `..\..\..\..\..\PLACE\secret`,
		"wide dots":            "/mnt/user-data/．．/．．/secret",
		"address":              "file://PLACE/secret",
		"home":                 "~/../../PLACE/secret",
		"variable":             "$DATA/secrets.env",
		"too long":             "/mnt/user-data/workspace/" + strings.Repeat("a/../", 1500) + "../../../PLACE/secret",
		"long name":            "/mnt/user-data/workspace/" + strings.Repeat("n", 300) + "/secret",
		"empty":                "",
		"skills":               "/mnt/skills/../../PLACE/secret",
		"dots and slashes":     "/mnt/user-data//./workspace/.//..//..//..///PLACE/secret",
		"reserved folder":      "/mnt/user-data/uploads/../../../fawn.db",
	} {
		a := attack{name: "path, " + name,
			want: `^((.|\n)*\nError: |Error: )(.|\n)*Error: (.|\n)*Error: (.|\n)*Error: (.|\n)*Error: `}
		a.during = func(t *testing.T, w *world, thread string) string {
			p := strings.NewReplacer("PLACE", w.outside, "DATA", w.data).Replace(path)
			told := w.chat(t, thread, []use{
				tool("read_file", "path", p), tool("write_file", "path", p, "content", "evil"),
				tool("write_file", "path", p, "content", "evil", "append", true),
				tool("str_replace", "path", p, "old_str", "C", "new_str", "X"), tool("ls", "path", p),
				tool("grep", "pattern", ".", "path", p), tool("glob", "pattern", "*", "path", p),
				tool("view_image", "image_path", p), tool("present_files", "filepaths", []string{p}),
			})
			return strings.Join(told, "\n")
		}
		all = append(all, a)
	}
	return append(all,
		attack{name: "patterns that climb", uses: []use{
			tool("glob", "pattern", "../../../../../../../etc/pass*", "path", "."),
			tool("glob", "pattern", "/etc/*", "path", "."),
			tool("glob", "pattern", "{..,../..,../../..}/**", "path", "."),
			tool("grep", "pattern", "CANARY|root:", "path", ".", "glob", "../../../../**"),
			tool("grep", "pattern", "CANARY|root:", "path", "/"), tool("ls", "path", "/"),
		}, want: `^Error.*\nNo files matched(.|\n)*(\nError.*){4}$`},
		attack{name: "patterns that never end",
			shell: `head -c 3000000 /dev/zero | tr '\0' a > long; for i in $(seq 40); do head -c 100000 long > f$i; done; echo made`, uses: []use{
				tool("grep", "pattern", `(a+)+$b`, "path", "."),
				tool("grep", "pattern", `(((a{1,100}){1,100}){1,100})`, "path", "."),
				tool("grep", "pattern", strings.Repeat("(a|", 3000)+strings.Repeat(")", 3000), "path", "."),
				tool("grep", "pattern", `[`, "path", "."),
				tool("glob", "pattern", strings.Repeat("**/", 200)+"x", "path", "."),
				tool("glob", "pattern", strings.Repeat("{a,b}", 40), "path", "."),
			}, want: `^made\nNo matches found under .*(\n.stopped early.*)?(\nError: Invalid regex.*){3}\nNo files matched.*(\n.stopped early.*)?\nError: Invalid glob.*$`},
		attack{name: "arguments that are none", uses: []use{
			{"bash", map[string]any{"command": []int{1}}},
			{"read_file", map[string]any{"path": map[string]any{"$ref": "/etc/passwd"}}},
			{"write_file", map[string]any{"path": "x"}}, {"present_files", map[string]any{"filepaths": "/etc/passwd"}},
			{"bash", map[string]any{}}, {"host_bash", map[string]any{"command": "id"}},
			{"read_file", map[string]any{"path": "x", "start_line": -1 << 60, "end_line": 1 << 60}},
		}, want: `^(Error.*\n){6}\(start_line`},
		attack{name: "text for terminals and pages",
			shell: `printf '\033]0;evil\007\033[2J\033]8;;http://x\007<script>x</script>\342\200\256\0\377'; touch $'\033[31mred' $'new\nline' -- '-rf' '<img src=x>'`,
			uses:  []use{tool("ls", "path", ".")}, want: `new\\nline`},
	)
}

// withLinks are attacks by what a command leaves for the tools for files.
func withLinks() (all []attack) {
	const every = `ln -s "$SECRET" l; ln -s "$OUTSIDE" dir; ln -s "../../../../../../../../../..$SECRET" up; ln -s "/proc/self/root$SECRET" proc; ln -s /proc/self/environ env; ln -s /proc/self/fd/3 fd
ln -s a b; ln -s b a; ln -s /mnt/user-data/../../etc/passwd dressed; ln -s dir/secret twice; ln -s "$DATA/threads/victim/user-data/workspace" victim; ln -s / root; ln -s "$OUTSIDE/$MARK" new; ln -s /dev/zero zero; ln -s /dev/stdin stdin
for l in l up proc env new zero; do ln -s $l $l.png; ln -s /mnt/user-data/workspace/$l /mnt/user-data/outputs/$l; done; echo linked
`
	for name, path := range map[string]string{
		"absolute": "l", "through a folder": "dir/secret", "relative": "up", "process": "proc", "environment": "env",
		"descriptor": "fd", "loop": "a", "dressed up": "dressed", "twice": "twice", "victim": "victim/private",
		"root": "root/etc/passwd", "not yet there": "new", "endless": "zero", "input": "stdin", "folder": "dir",
		"up from a folder": "dir/deeper/../../dir/secret",
	} {
		all = append(all, attack{name: "link, " + name, shell: every, uses: []use{
			tool("read_file", "path", path), tool("write_file", "path", path, "content", "evil"),
			tool("write_file", "path", path, "content", "evil", "append", true),
			tool("str_replace", "path", path, "old_str", "C", "new_str", "X"),
			tool("grep", "pattern", ".", "path", path), tool("ls", "path", path),
			tool("glob", "pattern", "*", "path", path), tool("view_image", "image_path", path+".png"),
			tool("present_files", "filepaths", []string{"/mnt/user-data/outputs/" + path}),
		}, want: `^linked\n(.*Error: (.|\n)*){9}`,
			host: func(t *testing.T, w *world, thread string) []string {
				return w.fetched(t, thread, "workspace/"+path, "outputs/"+path)
			}})
	}
	return append(all,
		attack{name: "links in a whole tree", shell: every + `grep -c . .attack.sh >/dev/null`, uses: []use{
			tool("grep", "pattern", "CANARY|root:x", "path", "."),
			tool("grep", "pattern", "CANARY|root:x", "path", "/mnt/user-data/outputs"),
			tool("glob", "pattern", "**/*", "path", "."), tool("ls", "path", "."),
		}, want: `linked\nNo matches found under \.\nNo matches found under (.|\n)*\n/mnt/user-data/workspace/l\n`},
		attack{name: "pipes and sockets",
			shell: `mkfifo p p.png /mnt/user-data/outputs/p; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'; ln -s p l; echo made`, uses: []use{
				tool("read_file", "path", "p"), tool("read_file", "path", "s"), tool("read_file", "path", "l"),
				tool("write_file", "path", "p", "content", "x"),
				tool("write_file", "path", "p", "content", "x", "append", true),
				tool("str_replace", "path", "p", "old_str", "C", "new_str", "X"),
				tool("view_image", "image_path", "p.png"),
				tool("present_files", "filepaths", []string{"/mnt/user-data/outputs/p"}),
				tool("grep", "pattern", "x", "path", "p"),
			}, want: `^made\n(Error: .*\n?){9}$`, host: func(t *testing.T, w *world, thread string) []string {
				return w.fetched(t, thread, "workspace/p", "outputs/p", "workspace/s")
			}},
		attack{name: "files without end",
			shell: `truncate -s 8E huge 2>/dev/null || truncate -s 1G huge; cp --sparse=always huge huge.png 2>/dev/null || truncate -s 1G huge.png; truncate -s 900M /mnt/user-data/outputs/huge; echo made`, uses: []use{
				tool("read_file", "path", "huge"), tool("grep", "pattern", "x", "path", "huge"),
				tool("view_image", "image_path", "huge.png"),
				tool("str_replace", "path", "huge", "old_str", "x", "new_str", "y"),
			}, want: `made\n(.|\n)*Error: `},
		attack{name: "folders without end",
			shell: `mkdir many; cd many; seq 11000 | xargs touch; cd ..; for i in $(seq 200); do mkdir d; cd d; done; echo made`, uses: []use{
				tool("ls", "path", "many"), tool("ls", "path", "d"), tool("glob", "pattern", "**/*", "path", "."),
				tool("grep", "pattern", "x", "path", "."),
			}, want: `made`},
	)
}
