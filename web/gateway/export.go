package gateway

import (
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"fawn/store"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/route"
)

// exportThread handles GET /threads/{thread_id}/export.
func (g *Gateway) exportThread(c echo.Context, t store.Thread) error {
	ctx, lang, format := c.Request().Context(), exportLang(c), c.QueryParam("format")
	switch format {
	case "", "zip", "markdown", "md", "json":
	default:
		return httpx.Errorf(http.StatusUnprocessableEntity, "format is zip, markdown or json, not %.40q", format)
	}
	if g.Export == nil {
		return store.ErrNotFound
	}
	switch format {
	case "", "zip":
		return g.archive(c, func(begin func(string) io.Writer) error {
			return g.Export.ExportThread(ctx, t, lang, begin)
		})
	case "markdown", "md":
		title, body, err := g.Export.ExportMarkdown(ctx, t, lang)
		if err != nil {
			return err
		}
		saveAs(c, title+".md")
		return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", body)
	}
	body, err := g.Export.ExportJSON(ctx, t)
	if err != nil {
		return err
	}
	saveAs(c, t.ID+".json")
	return c.Blob(http.StatusOK, "application/json", body)
}

// exportAll handles GET /export.
func (g *Gateway) exportAll(c echo.Context) error {
	if g.Export == nil {
		return store.ErrNotFound
	}
	ctx, owner, lang := c.Request().Context(), g.Owner(c), exportLang(c)
	return g.archive(c, func(begin func(string) io.Writer) error { return g.Export.ExportAll(ctx, owner, lang, begin) })
}

// exportLang returns the language a client asks for.
func exportLang(c echo.Context) string {
	if lang := c.QueryParam("lang"); lang != "" {
		return lang
	}
	return "en"
}

// archive streams an archive. If it fails, the connection is aborted, so that the result isn't mistaken for complete.
func (g *Gateway) archive(c echo.Context, write func(begin func(name string) io.Writer) error) error {
	err := write(func(name string) io.Writer {
		saveAs(c, name)
		h := c.Response().Header()
		h.Set("Content-Type", "application/zip")
		h.Set("Cache-Control", "private, no-store")
		c.Response().WriteHeader(http.StatusOK)
		return c.Response()
	})
	if err == nil || !c.Response().Committed {
		return err
	}
	if c.Request().Context().Err() == nil {
		g.Log.Warn("export interrupted", "err", err)
	}
	panic(http.ErrAbortHandler)
}

// saveAs makes a browser save the response under a name, which contains no path separator.
func saveAs(c echo.Context, name string) {
	name = strings.NewReplacer("/", "-", "\\", "-", ":", "-").Replace(name)
	h := c.Response().Header()
	h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(name), "+", "%20"))
	h.Set("X-Content-Type-Options", "nosniff")
}

// describeExport returns the routes that write chats as files.
func describeExport() []o.Op {
	const tag = "Export"
	lang := o.Param{Name: "lang", Schema: o.String(), Text: "Language of the headings, such as zh-CN"}
	zip := route.Filed(200, "A zip archive, made while it is sent", "application/zip")
	return []o.Op{
		{ID: "exportThread", Tag: tag, Text: "Export a thread",
			More:  "As an archive with chat.md, chat.json and its files, or one of the two texts.",
			Query: []o.Param{{Name: "format", Schema: o.Enum("zip", "markdown", "md", "json")}, lang},
			Out:   route.Filed(200, "The archive or text", "*/*"),
			Fail:  []int{422}},
		{ID: "exportAll", Tag: tag, Text: "Export everything that belongs to the user",
			More:  "An archive with all threads as above, custom agents, profile and memory.",
			Query: []o.Param{lang}, Out: zip},
	}
}
