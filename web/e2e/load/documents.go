package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Limits of documents.
const (
	limitFirstPages = 1000 // ms until the first pages of a book are readable
	limitSearchable = 6    // seconds until a book is searchable
	limitConverter  = 250  // MB resident of the converter
	limitSearch     = 50   // ms with ten documents
)

const (
	bookPages = 300
	books     = 10
	searches  = 15
)

// documents measures how soon a long PDF can be searched, and searches in ten of them.
func (b *bench) documents(ctx context.Context) error {
	t, p, err := b.server(ctx, "documents", filepath.Join(b.Dir, "documents"))
	if err != nil {
		return err
	}
	defer p.Stop()
	none := math.NaN()
	cold, err := t.converted(ctx, "warm", "one.pdf", book(1, 0))
	if err != nil {
		return err
	}
	b.add("first PDF of a server, one page: until it is converted", "ms", cold.all, none, none)
	thread, err := t.Thread(ctx)
	if err != nil {
		return err
	}
	var first reading
	for i := range books {
		r, err := t.converted(ctx, thread, fmt.Sprintf("book-%d.pdf", i), book(bookPages, i))
		if err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		took, err := t.searchBooks(ctx, thread, "page7of0")
		if err != nil {
			return err
		}
		first = r
		first.all += took
	}
	b.add(fmt.Sprintf("PDF of %d pages: until its first pages are read", bookPages), "ms", first.begun, none,
		limitFirstPages)
	b.add("until it is searched, with the answer", "s", first.all/1e3, none, limitSearchable)
	b.add("memory of the process that reads it", "MB", first.memory, none, limitConverter)
	var with, without []float64
	for i := range searches {
		took, err := t.searchBooks(ctx, thread, fmt.Sprintf("page%dof%d harbour light", 7*i+1, i%books))
		if err != nil {
			return err
		}
		with = append(with, took)
		if took, err = t.call(ctx, thread, "ls",
			map[string]string{"description": "look", "path": "/mnt/user-data/outputs"}, ""); err != nil {
			return err
		}
		without = append(without, took)
	}
	b.add(fmt.Sprintf("search in %d of them, over listing a folder", books),
		"ms", quantile(with, 0.5)-quantile(without, 0.5), none, limitSearch)
	return nil
}

// reading holds the results of a conversion: ms until the first pages were read and until the end, and the process's
// peak memory in MB, NaN if unknown.
type reading struct{ begun, all, memory float64 }

// converted uploads a document and waits until it is Markdown.
func (t *Target) converted(ctx context.Context, thread, name string, data []byte) (r reading, err error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("files", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return r, err
	}
	begin := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Base+"/api/threads/"+thread+"/uploads", &form)
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	if err := t.ask(req, nil); err != nil {
		return r, err
	}
	var peak int64
	for {
		var list struct {
			Files []struct {
				Filename   string
				Conversion struct {
					State, Reason string
					Done          int
				}
			}
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Base+"/api/threads/"+thread+"/uploads/list", nil)
		if err != nil {
			return r, err
		}
		if err := t.ask(req, &list); err != nil {
			return r, err
		}
		peak = max(peak, converterPeak())
		now := float64(time.Since(begin)) / 1e6
		for _, f := range list.Files {
			c := f.Conversion
			if f.Filename != name {
				continue
			}
			if r.begun == 0 && (c.Done > 0 || c.State != "pending") {
				r.begun = now
			}
			if c.State == "converted" {
				r.all, r.memory = now, float64(peak)/1e6
				if peak == 0 {
					r.memory = math.NaN()
				}
				return r, nil
			}
			if c.State != "pending" {
				return r, fmt.Errorf("%s: %s %s", name, c.State, c.Reason)
			}
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ask sends a request and decodes the JSON response into a non-nil value.
func (t *Target) ask(req *http.Request, into any) error {
	res, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d: %.300s", req.URL.Path, res.StatusCode, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

// converterPeak returns the peak memory of a running converter in bytes; 0 without one, or if unknown.
func converterPeak() (peak int64) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0
	}
	for _, name := range all {
		line, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(line, []byte("fawn-convert\x00")) {
			continue
		}
		var n int64
		if sizes(filepath.Join(filepath.Dir(name), "status"), map[string]*int64{"VmHWM:": &n}) == nil {
			peak = max(peak, n)
		}
	}
	return peak
}

// searchBooks makes the model search the thread's documents and returns the duration of the run in ms.
func (t *Target) searchBooks(ctx context.Context, thread, words string) (float64, error) {
	return t.call(ctx, thread, "search_documents", map[string]string{"query": words}, `\"passages\":[{`)
}

// call makes the model call a tool whose result must contain a text.
func (t *Target) call(ctx context.Context, thread, tool string, args map[string]string, want string) (float64, error) {
	script, err := json.Marshal(map[string]any{"turns": []any{
		map[string]any{"tool_calls": []any{map[string]any{"name": tool, "args": args}}},
		map[string]string{"text": "done"}}})
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	res, err := t.post(ctx, "/threads/"+thread+"/runs/wait", map[string]any{"assistant_id": "lead_agent",
		"input": map[string]any{"messages": []any{map[string]string{"type": "human", "content": "SCRIPT" + string(script)}}}})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	took := float64(time.Since(begin)) / 1e6
	if err == nil && !strings.Contains(string(body), want) {
		err = fmt.Errorf("%s has not found what is there: %.300s", tool, body)
	}
	return took, err
}

// book returns a PDF with text and a unique word on each page.
func book(pages, n int) []byte {
	words := strings.Fields("the harbour light keeps ships away from rocks when fog comes in at night and nobody sees land but one man who counts seconds between flashes writes them down each hour wind turns north before rain")
	r := rand.New(rand.NewPCG(uint64(n), 1))
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}
	kids := ""
	for i := 1; i <= pages; i++ {
		var text strings.Builder
		fmt.Fprintf(&text, "BT /F1 11 Tf 60 770 Td 14 TL (Here is page%dof%d of the book) Tj T*\n", i, n)
		for range 40 {
			line := make([]string, 11)
			for j := range line {
				line[j] = words[r.IntN(len(words))]
			}
			fmt.Fprintf(&text, "(%s) Tj T*\n", strings.Join(line, " "))
		}
		text.WriteString("ET")
		kids += fmt.Sprintf("%d 0 R ", len(objects)+1)
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>",
				len(objects)+2),
			fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", text.Len(), text.String()))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids, pages)
	var out, table bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	for i, o := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n",
		len(objects)+1, table.String(), len(objects)+1, at)
	return out.Bytes()
}
