package worker

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/sandbox/files"
	"fawn/uploads/convert"
	"fawn/web/e2e/gate"
)

// openFolder is one that other users may enter, as that of a service is.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fawn-jobs-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must.Report(t, os.RemoveAll(dir)) })
	return dir
}

// TestConversionsAreJailedWithoutNamespaces: where there are none, rules about files, a filter of
// system calls and limits hold for what reads documents and draws pictures.
func TestConversionsAreJailedWithoutNamespaces(t *testing.T) {
	dir := openFolder(t)
	c := &Converter{cache: filepath.Join(dir, "cache"), dirs: files.Dirs{Root: filepath.Join(dir, "documents")},
		log: slog.New(slog.DiscardHandler), provider: sandbox.ProviderLandlock,
		program: copied{dir: filepath.Join(dir, "program")}}
	jail := must.Get(c.open(t.Context()))(t)
	t.Cleanup(func() {
		if err := jail.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	if jail.Name() != sandbox.ProviderLandlock {
		t.Skip("no sandbox without namespaces here:", jail.Probe(t.Context()))
	}
	// run is a job as the server starts it, but that nothing else is tried where the jail fails.
	run := func(t *testing.T, k task, data string) (*report, convert.Reason, []byte) {
		t.Helper()
		ref := sandbox.ThreadRef{ID: "job-test"}
		must.Do(t, c.dirs.Create(ref.ID))
		tree, err := c.dirs.Open(ref.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		said := &report{progress: func(int, int) {}}
		err = c.put(tree, strings.NewReader(data))
		var why convert.Reason
		if err == nil {
			why, err = c.inside(t.Context(), jail, ref, k, said)
		}
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		if said.end != nil && said.end.Text {
			out = must.Get(tree.ReadFile(t.Context(), jobOutput, k.most))(t)
		}
		must.Do(t, c.dirs.Remove(ref.ID))
		return said, why, out
	}
	t.Run("a document", func(t *testing.T) {
		said, why, out := run(t, task{convert.Role, "a page.html", "", maxMarkdown},
			"<h1>Offer</h1><p>It costs 400 francs.")
		if string(out) != "# Offer\n\nIt costs 400 francs.\n" {
			t.Errorf("%+v, %s, %q", said.end, why, out)
		}
	})
	t.Run("a picture", func(t *testing.T) {
		var b bytes.Buffer
		must.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 400, 100))))
		said, why, out := run(t, task{convert.PictureRole, strconv.Itoa(96), "", maxDrawn}, b.String())
		conf, _, err := image.DecodeConfig(bytes.NewReader(out))
		if err != nil || conf.Width != 96 || conf.Height != 24 {
			t.Errorf("%+v, %s, %+v %v", said.end, why, conf, err)
		}
	})
	t.Run("a PDF", func(t *testing.T) {
		gate.In(t, gate.Soak, "the reader takes seconds to compile")
		c.compile(t.Context())
		const page = "BT /F1 12 Tf 60 700 Td (It costs 400 francs.) Tj ET"
		objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
			"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>/Contents 4 0 R>>",
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(page), page)}
		pdf := "%PDF-1.4\n"
		for i, o := range objects {
			pdf += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
		}
		said, why, out := run(t, task{convert.Role, "a.pdf", "", maxMarkdown}, pdf+"trailer<</Size 5/Root 1 0 R>>\n%%EOF\n")
		if !c.warm || !strings.Contains(string(out), "It costs 400 francs.") {
			t.Errorf("%+v, %s, %q, with a cache: %v", said.end, why, out, c.warm)
		}
	})
	t.Run("walls", func(t *testing.T) {
		secret := filepath.Join(dir, "secret")
		must.Do(t, os.WriteFile(secret, []byte("hunter2"), 0o644))
		listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
		defer listener.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err == nil {
			err = c.dirs.Create("job-walls")
		}
		if err != nil {
			t.Fatal(err)
		}
		at := must.Get(c.seat(jail, "job-walls"))(t)
		box := must.Get(jail.Acquire(t.Context(), sandbox.ThreadRef{ID: "job-walls"}, jobPolicy(at.binds)))(t)
		way := must.Get(c.from("job-walls", secret))(t)
		for name, command := range map[string]string{
			"a file of the server":  `cat "$1"`,
			"a file of the machine": `cat /etc/shadow`,
			"the program":           `: >> "$2"`,
			"the network":           `: <> /dev/tcp/127.0.0.1/"$3"`,
			"processor time":        `[ "$(ulimit -Ht)" = unlimited ] || exit 1`,
			"size of files":         `[ "$(ulimit -Hf)" = unlimited ] || exit 1`,
		} {
			res, err := box.Exec(t.Context(), sandbox.ExecReq{Command: command, Args: []string{way, at.program, port}})
			if err != nil || res.ExitCode == 0 || strings.Contains(string(res.Output), "hunter2") {
				t.Errorf("%s: %d %q %v", name, res.ExitCode, res.Output, err)
			}
		}
		must.Report(t, jail.Destroy(t.Context(), sandbox.ThreadRef{ID: "job-walls"}, "over"))
	})
}
