package attack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// swap leaves a process behind that exchanges two names for each other as fast as it can,
// and counts into a file.
func swap(one, other string) string {
	return fmt.Sprintf(`cat > /tmp/swap.py <<'END'
import ctypes, os
l = ctypes.CDLL(None)
n = 0
while True:
    l.renameat2(-100, %q.encode(), -100, %q.encode(), 2)
    n += 1
    if n %% 64 == 0:
        with open("/tmp/n.new", "w") as f: f.write(str(n))
        os.rename("/tmp/n.new", "/tmp/n")
END
setsid python3 /tmp/swap.py >/dev/null 2>&1 </dev/null &
until [ -s /tmp/n ]; do sleep 0.01; done; echo swapping
`, one, other)
}

// swapped proves that names were exchanged all the time.
func swapped() use {
	return tool("bash", "command", `a=$(cat /tmp/n); until [ "$(cat /tmp/n)" != "$a" ]; do sleep 0.01; done; pkill python3; echo swapped`)
}

// withRaces are attacks by what changes between a look and an act.
func withRaces() []attack {
	const folders = `mkdir real; echo inside > real/secret; echo inside > real/x.png; ln -s "$OUTSIDE" evil; ` +
		`mkdir /mnt/user-data/outputs/real; echo inside > /mnt/user-data/outputs/real/secret; ln -s "$OUTSIDE" /mnt/user-data/outputs/evil; `
	var reads, writes, looks []use
	for i := range 24 {
		reads = append(reads, tool("read_file", "path", "real/secret", "end_line", i+1))
		writes = append(writes, tool("write_file", "path", fmt.Sprintf("real/%s-%d", mark, i%3), "content",
			fmt.Sprint("evil", i), "append", i%2 == 0))
		looks = append(looks, [...]use{tool("grep", "pattern", fmt.Sprint("C|", i), "path", "real"),
			tool("ls", "path", "real/."),
			tool("glob", "pattern", fmt.Sprint("s*", strings.Repeat("*", i%5)), "path", "real"),
			tool("view_image", "image_path", "real/x.png"),
			tool("str_replace", "path", "real/secret", "old_str", "CANARY-", "new_str", fmt.Sprint("evil", i)),
			tool("present_files", "filepaths", []string{"/mnt/user-data/outputs/real/secret"})}[i%6])
	}
	serve := func(path string) func(*testing.T, *world, string) string {
		return func(t *testing.T, w *world, thread string) string {
			var b strings.Builder
			// A busy machine may show only one of the two for long.
			inside, refused := 0, 0
			for n := 0; n < 150 || n < 5000 && (inside == 0 || refused == 0); n++ {
				status, body := w.send(t, "GET", "/api/threads/"+thread+"/artifacts/mnt/user-data/"+path, "", "")
				switch {
				case status == http.StatusOK && body == "inside\n":
					inside++
				case status == http.StatusForbidden || status == http.StatusNotFound:
					refused++
				default:
					fmt.Fprintf(&b, "%d %s\n", status, body)
				}
			}
			t.Logf("%d served, %d refused", inside, refused)
			return b.String() + "\n" + w.chat(t, thread, []use{swapped()})[0]
		}
	}
	pages := func(t *testing.T, w *world, thread string) string {
		var b strings.Builder
		for n := range 300 {
			at := [...]string{"/ui/threads/" + thread + "/view/", "/workspace/chats/" + thread + "/files/",
				"/ui/threads/" + thread + "/thumb/"}[n%3]
			status, body := w.send(t, "GET", at+"mnt/user-data/outputs/real/secret", "", "")
			if status >= 500 || strings.Contains(body, secret) {
				fmt.Fprintf(&b, "%s: %d %s\n", at, status, body)
			}
		}
		return b.String() + "\n" + w.chat(t, thread, []use{swapped()})[0]
	}
	return []attack{
		{name: "race, pages of files", shell: folders + swap("/mnt/user-data/outputs/real", "/mnt/user-data/outputs/evil"), during: pages, want: `^swapping\n\(1 process .*\n\nswapped$`},
		{name: "race, pages of a file that becomes a folder", shell: `cd /mnt/user-data/outputs; mkdir real other; echo inside > real/secret; ln -s real evil; echo x > file; ` + swap("/mnt/user-data/outputs/real", "/mnt/user-data/outputs/evil"), during: pages, want: `^swapping\n\(1 process .*\n\nswapped$`},
		{name: "race, reading in a swapped folder", shell: folders + swap("/mnt/user-data/workspace/real", "/mnt/user-data/workspace/evil"), uses: append(reads, swapped()), want: `swapping(.|\n)*\nswapped$`},
		{name: "race, writing in a swapped folder", shell: folders + swap("/mnt/user-data/workspace/real", "/mnt/user-data/workspace/evil"), uses: append(writes, swapped()), want: `swapping(.|\n)*\nswapped$`},
		{name: "race, looking in a swapped folder", shell: folders + swap("/mnt/user-data/workspace/real", "/mnt/user-data/workspace/evil"), uses: append(looks, swapped()), want: `swapping(.|\n)*\nswapped$`},
		{name: "race, a file and a link",
			shell: `echo inside > f; ln -s "$SECRET" l; ` + swap("/mnt/user-data/workspace/f",
				"/mnt/user-data/workspace/l"), want: `swapping(.|\n)*\nswapped$`, uses: []use{
				tool("read_file", "path", "f"), tool("str_replace", "path", "f", "old_str", "i", "new_str", "evil"),
				tool("write_file", "path", "f", "content", "evil"), tool("read_file", "path", "l"),
				tool("write_file", "path", "l", "content", "evil", "append", true),
				tool("read_file", "path", "f", "end_line", 2),
				tool("str_replace", "path", "l", "old_str", "C", "new_str", "evil"),
				tool("grep", "pattern", "C", "path", "f"), tool("read_file", "path", "l", "end_line", 3), swapped()}},
		{name: "race, a file and a pipe",
			shell: `echo inside > f; mkfifo p; cp f f.png; ` + swap("/mnt/user-data/workspace/f",
				"/mnt/user-data/workspace/p"), want: `swapping(.|\n)*\nswapped$`, uses: []use{
				tool("read_file", "path", "f"), tool("read_file", "path", "p"),
				tool("write_file", "path", "p", "content", "x"), tool("grep", "pattern", "x", "path", "."),
				tool("str_replace", "path", "f", "old_str", "i", "new_str", "x"),
				tool("read_file", "path", "f", "end_line", 2),
				tool("write_file", "path", "f", "content", "x", "append", true),
				tool("read_file", "path", "p", "end_line", 2), swapped()}},
		{name: "race, files that are served", shell: folders + swap("/mnt/user-data/outputs/real", "/mnt/user-data/outputs/evil"), during: serve("outputs/real/secret"), want: `^swapping\n\(1 process .*\n\nswapped$`},
		{name: "race, a served file and a link", shell: `cd /mnt/user-data/outputs; echo inside > f; ln -s "$SECRET" l; ` + swap("/mnt/user-data/outputs/f", "/mnt/user-data/outputs/l"), during: serve("outputs/f"), want: `^swapping\n\(1 process .*\n\nswapped$`},
		{name: "race, uploads onto links",
			shell: `cd /mnt/user-data/uploads; ln -s "$OUTSIDE" evil; ln -s "$OUTSIDE/$MARK" up.txt; ln -s "$SECRET" over.txt; echo x > f; ln -s "$SECRET" g; ` +
				swap("/mnt/user-data/uploads/f", "/mnt/user-data/uploads/g"), want: `swapping(.|\n)*swapped$`,
			during: func(t *testing.T, w *world, thread string) string {
				var b strings.Builder
				for i := range 30 {
					status, body := w.upload(t, thread,
						[...]string{"up.txt", "over.txt", "f", "g", "evil"}[i%5], "evil")
					if status != http.StatusOK {
						t.Logf("upload: %d %s", status, body)
					}
					b.WriteString(body)
				}
				_, body := w.send(t, "GET", "/api/threads/"+thread+"/uploads/list", "", "")
				for _, name := range []string{"over.txt", "g", "f"} {
					_, answer := w.send(t, "DELETE", "/api/threads/"+thread+"/uploads/"+name, "", "")
					body += answer
				}
				return b.String() + body + "\n" + w.chat(t, thread, []use{swapped()})[0]
			}},
		{name: "race, results that become files",
			shell: `cd /mnt/user-data; ls -a . workspace outputs > /dev/null; cat > /tmp/w.sh <<'END'
cd /mnt/user-data; n=0
while :; do for d in workspace outputs; do rm -rf $d/.tool-results; ln -s "$OUTSIDE" $d/.tool-results; rm -f $d/.tool-results; mkdir -p $d/.tool-results/bash; done; n=$((n+1)); echo $n > /tmp/n.new; mv /tmp/n.new /tmp/n; done
END
setsid bash /tmp/w.sh >/dev/null 2>&1 </dev/null & until [ -s /tmp/n ]; do sleep 0.01; done; echo swapping`, uses: []use{
				tool("bash", "command", "seq 1 20000"), tool("bash", "command", "seq 2 20000"),
				tool("bash", "command", "seq 3 20000"), tool("bash", "command", "seq 4 20000"),
				tool("bash", "command", `a=$(cat /tmp/n); until [ "$(cat /tmp/n)" != "$a" ]; do sleep 0.01; done; pkill -f '^bash /tmp/w'; echo swapped`)}, want: `swapping(.|\n)*\nswapped$`},
	}
}
