package render

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"time"
)

// printTime limits the making of a PDF.
const printTime = time.Minute

// A4 paper, in inches.
const (
	paperWidth  = 8.27
	paperHeight = 11.69
)

// Print creates a PDF of an HTML document without network access and scripts. The error wraps [ErrNone], [ErrPage],
// [ErrLarge] or [ErrMemory], or is that of the context.
func (b *Browser) Print(ctx context.Context, document string) (pdf []byte, err error) {
	where, err := b.find()
	if err != nil {
		return nil, err
	}
	b.once.Do(func() { b.slots = make(chan struct{}, maxPages) })
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, printTime)
	defer cancel()
	w, err := open(ctx, where, cmp.Or(b.Memory, maxMemory))
	if err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	c := newConversation(ctx, w)
	defer func() {
		if failed := c.close(); failed != nil && b.Log != nil {
			b.Log.Warn("browser exited with an error", "err", failed)
		}
	}()
	pdf, err = c.print(ctx, document)
	if w, ok := w.(bounded); ok && err != nil && w.exceeded() {
		return nil, ErrMemory
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return pdf, err
}

// print opens an empty page, fills it with the document and prints it.
func (c *conversation) print(ctx context.Context, document string) ([]byte, error) {
	if len(document) > maxMessage/2 {
		return nil, ErrLarge
	}
	var made struct {
		Context string `json:"browserContextId"`
		Target  string `json:"targetId"`
		Session string `json:"sessionId"`
	}
	// Nothing listens at the proxy's address, so the page has no network.
	if err := c.call(ctx, "", "Target.createBrowserContext", map[string]any{"disposeOnDetach": true,
		"proxyServer": "http://127.0.0.1:1", "proxyBypassList": "<-loopback>"}, &made); err != nil {
		return nil, err
	}
	defer func() {
		left, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = c.call(left, "", "Target.disposeBrowserContext", map[string]any{"browserContextId": made.Context}, nil)
	}()
	if err := c.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank",
		"browserContextId": made.Context}, &made); err != nil {
		return nil, err
	}
	if err := c.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": made.Target, "flatten": true},
		&made); err != nil {
		return nil, err
	}
	var tree struct {
		Tree struct {
			Frame struct {
				ID string `json:"id"`
			} `json:"frame"`
		} `json:"frameTree"`
	}
	for _, step := range []struct {
		method string
		params map[string]any
		out    any
	}{
		{"Page.enable", map[string]any{}, nil},
		{"Page.getFrameTree", map[string]any{}, &tree},
	} {
		if err := c.call(ctx, made.Session, step.method, step.params, step.out); err != nil {
			return nil, err
		}
	}
	if err := c.call(ctx, made.Session, "Page.setDocumentContent", map[string]any{"frameId": tree.Tree.Frame.ID,
		"html": document}, nil); err != nil {
		return nil, err
	}
	// Fonts and pictures are inside, but decoded a moment later. The document itself has no scripts.
	if err := c.call(ctx, made.Session, "Runtime.evaluate", map[string]any{"awaitPromise": true, "timeout": 15000,
		"expression": "Promise.all([document.fonts.ready, ...[...document.images].map((i) => i.decode().catch(() => {}))]).then(() => 1)"},
		nil); err != nil {
		return nil, err
	}
	var out struct {
		Data string `json:"data"`
	}
	const foot = `<div style="width:100%;text-align:center;font-size:8px;color:#777"><span class="pageNumber"></span> / <span class="totalPages"></span></div>`
	if err := c.call(ctx, made.Session, "Page.printToPDF", map[string]any{"printBackground": true,
		"paperWidth": paperWidth, "paperHeight": paperHeight, "preferCSSPageSize": true, "displayHeaderFooter": true,
		"headerTemplate": "<span></span>", "footerTemplate": foot, "generateTaggedPDF": true}, &out); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(out.Data)
}
