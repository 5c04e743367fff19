package attack_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
)

// upload sends one file as a browser does.
func (w *world) upload(t *testing.T, thread, name, content string) (status int, body string) {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="files"; filename="` + name + `"`}, "Content-Type": {"text/plain"},
	})
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = form.Close()
	}
	must.Do(t, err)
	return w.send(t, "POST", "/api/threads/"+thread+"/uploads", form.FormDataContentType(), b.String())
}

// onRoutes are attacks by the addresses of files and threads.
func onRoutes() []attack {
	get := func(paths ...string) func(*testing.T, *world, string) string {
		return func(t *testing.T, w *world, thread string) string {
			var b strings.Builder
			for _, p := range paths {
				p = strings.NewReplacer("PLACE", w.outside, "DATA", w.data, "THREAD", thread).Replace(p)
				status, body := w.send(t, "GET", p, "", "")
				fmt.Fprintf(&b, "%d %.200s\n", status, strings.ReplaceAll(body, "\n", " "))
			}
			return b.String()
		}
	}
	const files = "/api/threads/THREAD/artifacts/mnt/user-data/"
	return []attack{
		{name: "addresses that climb", shell: `echo x > /mnt/user-data/outputs/x`, during: get(
			files+"outputs/../../../../../../../PLACE/secret", files+"outputs/%2e%2e/%2e%2e/%2e%2e/PLACE/secret",
			files+"outputs/..%2f..%2f..%2f..%2f..%2fPLACE/secret", files+"outputs/%252e%252e/%252e%252e/secret",
			files+"outputs/..%5c..%5csecret", files+"outputs/x%00.png",
			files+"..%2f..%2f..%2fvictim/user-data/workspace/private", "/api/threads/THREAD/artifacts/etc/passwd",
			"/api/threads/THREAD/artifacts//etc/passwd", "/api/threads/THREAD/artifacts/PLACE/secret",
			"/api/threads/THREAD/artifacts/mnt/user-data/../../../etc/passwd",
			"/api/threads/THREAD/artifacts/mnt/skills/../../etc/passwd"),
			want: `^\(no output\)\n((4\d\d|30\d) .*\n?){12}$`},
		{name: "names of threads that climb", during: get(
			"/api/threads/..%2f..%2f/artifacts/mnt/user-data/outputs/x",
			"/api/threads/%2e%2e/artifacts/mnt/user-data/x",
			"/api/threads/..%2fvictim/artifacts/mnt/user-data/workspace/private", "/api/threads/a%00b/state",
			"/api/threads/"+strings.Repeat("a", 300)+"/state", "/api/threads/.%2e/uploads/list",
			"/api/langgraph/threads/..%2f../state", "/api/threads/victim%2f../victim/state"),
			want: `^((4\d\d|30\d) .*\n?){8}$`},
		{name: "threads with names that climb", during: func(t *testing.T, w *world, thread string) string {
			var b strings.Builder
			for _, name := range []string{"../" + mark, "..", ".", "/etc", mark + "/x", "a\\u0000b", "a b", "",
				strings.Repeat("x", 65), "victim/.."} {
				status, body := w.send(t, "POST", "/threads", "application/json", `{"thread_id": "`+name+`"}`)
				fmt.Fprintf(&b, "%d %.80s\n", status, strings.ReplaceAll(body, "\n", " "))
			}
			return b.String()
		}, want: `^((4\d\d|200) .*\n){10}$`},
		{name: "uploads with names that climb", during: func(t *testing.T, w *world, thread string) string {
			var b strings.Builder
			for _, name := range []string{"../../../../" + mark, "/etc/" + mark, `..\\..\\` + mark, "..", ".",
				"%2e%2e%2f" + mark, "a\x00b", "x/../../../" + mark, ".tool-results/x", strings.Repeat("n", 400),
				"con\nrol", "\u202egnp.exe", "~/" + mark, "C:" + mark} {
				status, body := w.upload(t, thread, name, "evil")
				fmt.Fprintf(&b, "%d %.300s\n", status, strings.ReplaceAll(body, "\n", " "))
			}
			return b.String()
		}, want: `^((200|4\d\d) .*\n){14}$`, host: func(t *testing.T, w *world, thread string) (damage []string) {
			told := w.chat(t, thread, []use{tool("glob", "pattern", "**/*", "path", "/mnt/user-data")})[0]
			for line := range strings.Lines(told) {
				if strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "/mnt/user-data/uploads/") {
					damage = append(damage, "an upload landed at "+line)
				}
			}
			return damage
		}},
		{name: "removing what was not uploaded",
			shell: `echo keep > /mnt/user-data/workspace/keep; ln -s /mnt/user-data/workspace /mnt/user-data/uploads/l; ln -s "$SECRET" /mnt/user-data/uploads/s; echo made`,
			during: func(t *testing.T, w *world, thread string) string {
				var b strings.Builder
				for _, name := range []string{"..%2fworkspace%2fkeep", "%2e%2e", "l%2fkeep", "..%2f..%2f..%2fvictim",
					"s", "."} {
					status, _ := w.send(t, "DELETE", "/api/threads/"+thread+"/uploads/"+name, "", "")
					fmt.Fprintln(&b, status)
				}
				return b.String() + w.chat(t, thread, []use{tool("bash", "command", "cat keep")})[0]
			}, want: `^made\n(\d+\n){6}keep$`},
		{name: "pages that act",
			shell: `cd /mnt/user-data/outputs; echo '<script>fetch("/api/threads")</script>' | tee a.html a.svg a.xml a.js a.xhtml a.HTM a.unknown a.pdf a.mht > /dev/null; echo made`,
			want:  `made\n((attachment|inline) .*\n?){9}`,
			during: func(t *testing.T, w *world, thread string) string {
				var b strings.Builder
				for _, name := range []string{"a.html", "a.svg", "a.xml", "a.js", "a.xhtml", "a.HTM", "a.unknown",
					"a.pdf", "a.mht"} {
					res := w.answer(t, "GET", "/api/threads/"+thread+"/artifacts/mnt/user-data/outputs/"+name, "", "")
					res.Body.Close()
					h := res.Header
					how, _, _ := strings.Cut(h.Get("Content-Disposition"), ";")
					kind := h.Get("Content-Type")
					active := strings.Contains(kind, "html") || strings.Contains(kind, "svg") ||
						strings.Contains(kind, "xml") || strings.Contains(kind, "script")
					if active && how != "attachment" || h.Get("X-Content-Type-Options") != "nosniff" ||
						!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
						t.Errorf("%s: %v", name, h)
					}
					fmt.Fprintln(&b, how, name, kind)
				}
				return b.String()
			}},
		{name: "archives of skills that climb", shell: `cd /mnt/user-data/outputs; ` + python(`
import os, zipfile, stat
z = zipfile.ZipFile("/mnt/user-data/outputs/a.skill", "w")
z.writestr("../../../../../../../tmp/" + os.environ["MARK"] + "-zip", "evil")
i = zipfile.ZipInfo("link"); i.external_attr = (stat.S_IFLNK | 0o777) << 16
z.writestr(i, os.environ["SECRET"])
z.writestr("SKILL.md", "fine")
z.writestr("bomb", b"\0" * 50_000_000, zipfile.ZIP_DEFLATED)
z.close()`) + `ln -s "$SECRET" b.skill; echo made`,
			during: get(files+"outputs/a.skill/../../../../../../../tmp/"+mark+"-zip",
				files+"outputs/a.skill/%2e%2e/%2e%2e/secret", files+"outputs/b.skill/SKILL.md",
				files+"outputs/a.skill/link", files+"outputs/a.skill/bomb"), want: `made`},
		{name: "calls from other pages", during: func(t *testing.T, w *world, thread string) string {
			var b strings.Builder
			for _, h := range [][2]string{{"Origin", "http://evil.example"}, {"Origin", "null"},
				{"Sec-Fetch-Site", "cross-site"}, {"Host", "rebound.example"}} {
				req, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/api/threads/"+thread+"/runs/wait",
					strings.NewReader("{}"))
				must.Do(t, err)
				req.Header.Set(h[0], h[1])
				if h[0] == "Host" {
					req.Host = h[1]
				}
				res, err := w.client.Do(req)
				must.Do(t, err)
				res.Body.Close()
				fmt.Fprintln(&b, res.StatusCode)
			}
			return b.String()
		}, want: `^(403\n){3}421\n$`},
	}
}
