package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"os"
	"sync"
	"time"
)

// limitDay is the memory in MB that an idle server may have gained since before its day's work.
const limitDay = 25

// day performs a day's work in a minute: every thread gets a file and messages with tool calls, pages are opened and
// searched. It measures the memory that the idle server keeps.
func (b *bench) day(ctx context.Context) error {
	threads, turns := 100, 3
	if b.Quick {
		threads = 10
	}
	data, err := os.MkdirTemp(b.Dir, "day-")
	if err != nil {
		return err
	}
	_, p, err := b.server(ctx, "day", data) // the first start creates the folder, which isn't measured
	if err != nil {
		return err
	}
	p.Stop()
	t, p, err := b.server(ctx, "day", data)
	if err != nil {
		return err
	}
	defer p.Stop()
	before, err := rested(ctx, t.PID)
	if err != nil {
		return err
	}
	const atOnce = 8 // tabs and programs of one person
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			for k := i; k < threads && errs[i] == nil; k += atOnce {
				errs[i] = t.workThrough(ctx, k, turns)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	after, err := rested(ctx, t.PID)
	if err != nil {
		return err
	}
	none := math.NaN()
	b.add(fmt.Sprintf("memory at rest after %d runs in %d threads, RSS", threads*turns, threads),
		"MB", float64(after.RSS)/1e6, none, none)
	b.add("pages of the binary and other files in it", "MB", float64(after.Binary)/1e6, none, none)
	b.add("memory at rest, over that before", "MB", float64(after.RSS-before.RSS)/1e6, none, limitDay)
	b.add("peak memory in that time, RSS", "MB", float64(after.Peak)/1e6, none, none)
	return nil
}

// workThrough does one thread's part of a day.
func (t *Target) workThrough(ctx context.Context, k, turns int) error {
	thread, err := t.Thread(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("notes-%d.csv", k)
	if err := t.upload(ctx, thread, name, bytes.Repeat([]byte("2024-01-31,north,17.50\n"), 4000)); err != nil {
		return err
	}
	for turn := range turns {
		if err := t.task(ctx, thread, name, turn); err != nil {
			return err
		}
		for _, page := range []string{
			"/workspace/chats/" + thread, "/workspace/chats/" + thread + "/files", "/workspace/chats",
			fmt.Sprintf("/ui/threads?q=notes-%d", k), "/ui/threads/" + thread + "/export.md",
			"/workspace/settings/models",
		} {
			if err := t.open(ctx, page); err != nil {
				return err
			}
		}
		if err := t.search(ctx); err != nil {
			return err
		}
	}
	return nil
}

// task sends a message that makes the agent read a file, write one and give a long answer.
func (t *Target) task(ctx context.Context, thread, name string, turn int) error {
	call := func(tool string, args map[string]any) map[string]any {
		args["description"] = "do the work"
		return map[string]any{"tool_calls": []any{map[string]any{"name": tool, "args": args}}}
	}
	script, err := json.Marshal(map[string]any{
		"turns": []any{
			call("ls", map[string]any{"path": "/mnt/user-data/uploads"}),
			call("read_file", map[string]any{"path": "/mnt/user-data/uploads/" + name}),
			call("write_file", map[string]any{"path": fmt.Sprintf("/mnt/user-data/outputs/report-%d.md", turn),
				"content": "# Report\n\nAll is well.\n"}),
		},
		"final": map[string]any{"text": "## Result\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint(1)\n```\n\n",
			"tokens": 200, "chunk": 10},
	})
	if err != nil {
		return fmt.Errorf("write a script: %w", err)
	}
	s, err := t.Run(ctx, thread, "SCRIPT"+string(script))
	if err == nil && s.Tokens != 200 {
		err = fmt.Errorf("%s: %d of 200 tokens arrived", t.Name, s.Tokens)
	}
	return err
}

// upload uploads a file to a thread.
func (t *Target) upload(ctx context.Context, thread, name string, content []byte) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("files", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return fmt.Errorf("write a form: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Base+"/threads/"+thread+"/uploads", &body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return t.done(req)
}

// open fetches a page as a browser does.
func (t *Target) open(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.Base+path, nil)
	if err != nil {
		return err
	}
	return t.done(req)
}

// search asks for the newest threads.
func (t *Target) search(ctx context.Context) error {
	res, err := t.post(ctx, "/threads/search", map[string]any{"limit": 50})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// done makes a request and discards the response.
func (t *Target) done(req *http.Request) error {
	res, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: status %d", t.Name, req.URL.Path, res.StatusCode)
	}
	return err
}

// rested waits until a process has released unneeded memory, and returns its memory once the minimum is stable.
func rested(ctx context.Context, pid int) (Memory, error) {
	const (
		quiet   = 40 * time.Second // connections to the database close after half a minute
		longest = 3 * time.Minute
		noise   = 256 << 10
	)
	var least Memory
	since, end := time.Now(), time.Now().Add(longest)
	for {
		m, err := memory(pid)
		if err != nil {
			return m, err
		}
		if least.RSS == 0 || m.RSS < least.RSS-noise {
			since = time.Now()
			least = m
		}
		if time.Since(since) > quiet || time.Now().After(end) {
			return m, nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return m, err
		}
	}
}
