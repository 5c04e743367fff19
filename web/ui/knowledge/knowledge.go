// Package knowledge serves the pages of collections of documents.
package knowledge

import (
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/knowledge"
	"fawn/agent/projects"
	"fawn/store"
	"fawn/uploads"
	"fawn/views"
	"fawn/views/chat"
	"fawn/views/i18n"
	views_knowledge "fawn/views/knowledge"
	"fawn/views/markdown"
	"fawn/web/httpx"
	"fawn/web/principal"
	"fawn/web/ui/files"
	"fawn/web/ui/page"
)

// Handlers serve the pages of collections.
type Handlers struct {
	*page.Site
	Knowledge *knowledge.Service
	Uploads   func() uploads.Config
}

// Routes returns the routes of the pages of collections and of their actions.
func (h *Handlers) Routes() []page.Route {
	return []page.Route{
		page.Get("/workspace/knowledge", page.User, h.list),
		page.Get("/workspace/knowledge/:knowledge", page.User, h.collection),
		page.Get("/workspace/knowledge/:knowledge/documents/:document", page.User, h.document),
		page.Get("/ui/knowledge/:knowledge/documents/:document/text", page.User, h.text),
		page.Post("/ui/knowledge", page.User, h.create),
		page.Post("/ui/knowledge/:knowledge/:action", page.User, h.change),
	}
}

const (
	maxDocuments = 100 // limit of listed documents per page
	maxHits      = 10
	maxQuery     = 1000 // bytes
)

// code matches an HTTP status in the error of a web page.
var code = regexp.MustCompile(`\b[45][0-9]{2}\b`)

// list handles GET /workspace/knowledge.
func (h *Handlers) list(c echo.Context) error {
	return h.listPage(c, http.StatusOK, views.KnowledgePage{New: c.QueryParam("new") != ""})
}

func (h *Handlers) listPage(c echo.Context, status int, p views.KnowledgePage) (err error) {
	if p.Shell, err = h.Shell(c, views.NavKnowledge, ""); err != nil {
		return err
	}
	all, err := h.DB.Collections(c.Request().Context(), principal.Owner(c.Request().Context()))
	if err != nil {
		return err
	}
	for _, one := range all {
		p.Collections = append(p.Collections, row(one))
	}
	return page.HTML(c, status, views_knowledge.ListPage(p))
}

func row(k store.Collection) views.CollectionRow {
	return views.CollectionRow{ID: k.ID, Name: k.Name, About: k.About, Documents: k.Documents,
		Shared: k.Role != store.ProjectOwner}
}

// create handles POST /ui/knowledge.
func (h *Handlers) create(c echo.Context) error {
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	k, err := h.Knowledge.Create(ctx, principal.Owner(ctx), page.PlainText(form.Get("name")), "")
	var bad *knowledge.Invalid
	if errors.As(err, &bad) {
		return h.listPage(c, http.StatusUnprocessableEntity, views.KnowledgePage{Name: form.Get("name"),
			Problem: page.Say(c, "knowledge.name.bad")})
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, views.CollectionURL(k.ID))
}

// found returns the collection in the path if the reader may read it.
func (h *Handlers) found(c echo.Context) (store.Collection, error) {
	ctx := c.Request().Context()
	return h.DB.CollectionFor(ctx, principal.Owner(ctx), page.Param(c, "knowledge"))
}

// collection handles GET /workspace/knowledge/:knowledge.
func (h *Handlers) collection(c echo.Context) error {
	k, err := h.found(c)
	if err != nil {
		return err
	}
	return h.page(c, http.StatusOK, k, nil, views.Refused{})
}

// page renders the page of a collection, with the input of a refused form.
func (h *Handlers) page(c echo.Context, status int, k store.Collection, notice *views.Notice, typed views.Refused) (err error) {
	ctx := c.Request().Context()
	v := views.CollectionPage{Collection: row(k), Notice: notice, Owns: k.Role == store.ProjectOwner, Writes: k.Role.Writes(),
		Operator: principal.Of(ctx).Operator(), Accounts: h.Accounts != nil && h.Accounts.Required(), Earlier: -1, Later: -1, Typed: typed}
	if v.Shell, err = h.Shell(c, views.NavKnowledge, ""); err != nil {
		return err
	}
	if v.Operator {
		v.Folders = h.Config.Current().File.Knowledge.Folders
	}
	sources, err := h.DB.Sources(ctx, k.ID)
	if err != nil {
		return err
	}
	uploaded := ""
	for _, s := range sources {
		v.Working = v.Working || s.State == store.SourcePending
		if s.Kind == store.UploadSource {
			uploaded = s.ID
			if s.State != store.SourcePending {
				continue
			}
		}
		v.Sources = append(v.Sources, source(c, s))
	}
	if err := h.documents(c, k, uploaded, &v); err != nil {
		return err
	}
	if v.Query = strings.TrimSpace(c.QueryParam("q")); v.Query != "" {
		v.Query, v.Searched = page.Head(v.Query, maxQuery), true
		hits, err := h.Knowledge.Search(ctx, []store.Collection{k}, v.Query, nil, maxHits)
		if err != nil {
			return err
		}
		for _, hit := range hits {
			v.Hits = append(v.Hits, found(hit))
		}
	}
	if v.Accounts {
		if err := h.members(ctx, k, &v); err != nil {
			return err
		}
	}
	return page.HTML(c, status, views_knowledge.Page(v))
}

// documents loads the documents of a collection from the requested offset.
func (h *Handlers) documents(c echo.Context, k store.Collection, uploaded string, v *views.CollectionPage) error {
	offset, err := strconv.Atoi(c.QueryParam("from"))
	if err != nil || offset < 0 || offset > 1<<30 {
		offset = 0
	}
	list, err := h.DB.CollectionDocuments(c.Request().Context(), k.ID, offset, maxDocuments+1)
	if err != nil {
		return err
	}
	if offset > 0 {
		v.Earlier = max(0, offset-maxDocuments)
	}
	if len(list) > maxDocuments {
		list, v.Later = list[:maxDocuments], offset+maxDocuments
	}
	for _, d := range list {
		v.Documents = append(v.Documents, document(c, d, d.Source == uploaded))
	}
	return nil
}

func document(c echo.Context, d store.Document, uploaded bool) views.KnowledgeDocument {
	out := views.KnowledgeDocument{ID: d.ID, Name: d.Name, Title: d.Title, State: d.State, Bytes: d.Bytes, Uploaded: uploaded}
	switch d.Reason {
	case "":
	case knowledge.Full:
		out.Why = page.Say(c, "knowledge.reason.full")
	case knowledge.Large:
		out.Why = page.Say(c, "knowledge.reason.large")
	case knowledge.Unreadable:
		out.Why = page.Say(c, "knowledge.reason.unreadable")
	default:
		out.Why = chat.DocumentText(page.Localized(c), files.Attachment(uploads.File{Filename: d.Name,
			Conversion: &uploads.Conversion{State: d.State, Reason: d.Reason}}))
	}
	return out
}

func source(c echo.Context, s store.Source) views.KnowledgeSource {
	out := views.KnowledgeSource{ID: s.ID, Kind: s.Kind, Address: s.Address, State: s.State, Done: s.Done, Total: s.Total,
		Skipped: s.Skipped, CheckedAt: s.CheckedAt}
	word, detail, _ := strings.Cut(s.Problem, " ")
	key := ""
	switch word {
	case knowledge.NotAllowed:
		key = "knowledge.problem.forbidden"
	case knowledge.Missing:
		key = "knowledge.problem.missing"
	case knowledge.Unreachable:
		key = "knowledge.problem.unreachable"
	case knowledge.TooMany:
		key = "knowledge.problem.many"
	case knowledge.Slow:
		key = "knowledge.problem.slow"
	case knowledge.Internal:
		key = "knowledge.problem.internal"
	}
	if key != "" {
		if word == knowledge.Unreachable && i18n.Lang(page.Localized(c)) != i18n.English { // of what others said in English
			detail = code.FindString(detail)
		}
		out.Problem = strings.TrimSpace(page.Say(c, key) + " " + views.Safe(detail))
	}
	switch s.Every {
	case 0:
	case time.Hour:
		out.Every = page.Say(c, "knowledge.every.hour")
	case 24 * time.Hour:
		out.Every = page.Say(c, "knowledge.every.day")
	case 7 * 24 * time.Hour:
		out.Every = page.Say(c, "knowledge.every.week")
	default:
		out.Every = every(page.Localized(c), s.Every)
	}
	return out
}

// every describes an interval in words.
func every(ctx context.Context, d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return i18n.N(ctx, "knowledge.every.days", int(d/(24*time.Hour)))
	case d%time.Hour == 0:
		return i18n.N(ctx, "knowledge.every.hours", int(d/time.Hour))
	}
	return i18n.N(ctx, "knowledge.every.minutes", int(d.Round(time.Minute)/time.Minute))
}

// found converts a search result for the page.
func found(hit knowledge.Hit) views.KnowledgeHit {
	p := hit.Passage
	at := p.Kind + "-" + strconv.Itoa(p.Page)
	if p.Kind == "" {
		at = "line-" + strconv.Itoa(p.First)
	}
	where := views.CollectionDocumentURL(hit.Collection.ID, hit.Document.ID) + "?at=" + at + "#at-" + at
	cite := strings.TrimPrefix(p.Cite(), hit.Collection.Name+"/")
	return views.KnowledgeHit{URL: where, Cite: cite, Heading: p.Heading, Text: page.Head(p.Text, 400)}
}

func (h *Handlers) members(ctx context.Context, k store.Collection, v *views.CollectionPage) error {
	all, err := h.DB.CollectionMembers(ctx, k.ID)
	if err != nil {
		return err
	}
	for _, m := range append([]store.Member{{ID: k.Owner, Role: store.ProjectOwner}}, all...) {
		one := views.ProjectMember{ID: m.ID, Name: m.ID, Role: string(m.Role), Self: m.ID == principal.Owner(ctx)}
		if group, ok := store.MemberGroup(m.ID); ok {
			t, err := h.DB.Team(ctx, group)
			if err == nil {
				one.Name = t.Name
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
		} else if u, err := h.DB.User(ctx, m.ID); err == nil {
			one.Name = u.Email
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		v.Members = append(v.Members, one)
	}
	if !v.Owns {
		return nil
	}
	teams, err := projects.Groups(ctx, h.DB, k.Owner, v.Operator)
	for _, t := range teams {
		v.Groups = append(v.Groups, t.Name)
	}
	return err
}

// change handles POST /ui/knowledge/:knowledge/:action. Without write access the response is that for a missing
// collection.
func (h *Handlers) change(c echo.Context) error {
	k, err := h.found(c)
	if err != nil {
		return err
	}
	action := page.Param(c, "action")
	if action == "upload" {
		return h.changed(c, k, h.upload(c, k), views.Refused{})
	}
	form, err := page.ReadForm(c.Request(), page.SmallForm)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	me := principal.Owner(ctx)
	switch action {
	case "settings":
		_, err = h.Knowledge.Change(ctx, me, k.ID, func(k *store.Collection) error {
			k.Name, k.About = page.PlainText(form.Get("name")), page.PlainText(form.Get("about"))
			return nil
		})
	case "source":
		every, _ := strconv.Atoi(form.Get("every")) // a missing value is 0
		_, err = h.Knowledge.AddSource(ctx, me, principal.Of(ctx).Operator(), store.Source{Collection: k.ID,
			Kind: form.Get("kind"), Address: page.PlainText(form.Get("address")), Every: time.Duration(every) * time.Second})
	case "update":
		err = h.Knowledge.Update(ctx, me, k.ID, form.Get("source"))
	case "unsource":
		err = h.Knowledge.RemoveSource(ctx, me, k.ID, form.Get("source"))
	case "remove":
		var id int64
		if id, err = strconv.ParseInt(form.Get("document"), 10, 64); err != nil {
			return store.ErrNotFound
		}
		err = h.Knowledge.Remove(ctx, me, k.ID, id)
	case "share", "unshare":
		return h.share(c, k, action, form)
	case "delete":
		if err := h.Knowledge.Delete(ctx, me, k.ID); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, views.KnowledgeURL)
	default:
		return store.ErrNotFound
	}
	return h.changed(c, k, err, views.Refused{Form: action, Values: form})
}

// changed redirects to the page, or renders it with the problem and the input.
func (h *Handlers) changed(c echo.Context, k store.Collection, err error, typed views.Refused) error {
	var bad *knowledge.Invalid
	status, text := http.StatusUnprocessableEntity, ""
	switch {
	case err == nil:
		return c.Redirect(http.StatusSeeOther, views.CollectionURL(k.ID))
	case errors.Is(err, uploads.ErrTooLarge):
		status, text = http.StatusRequestEntityTooLarge, page.Say(c, "projects.files.large")
	case errors.As(err, new(*knowledge.Tried)):
		status, text = http.StatusTooManyRequests, page.Say(c, "projects.members.wait")
	case errors.As(err, &bad) && bad.Field == "name":
		text = page.Say(c, "knowledge.name.bad")
	case errors.As(err, &bad) && bad.Field == "email" && typed.Values.Get("group") != "":
		text = page.Say(c, "projects.members.both")
	case errors.As(err, &bad) && bad.Field == "email":
		text = page.Say(c, "projects.members.unknown")
	case errors.As(err, &bad) && bad.Field == "group":
		text = page.Say(c, "knowledge.group.unknown")
	case errors.As(err, &bad):
		text = wrong(c, bad.Field)
	default:
		status, _ = httpx.StatusOf(err)
		if status != http.StatusInsufficientStorage {
			return err
		}
		text = page.Say(c, "projects.files.full")
	}
	return h.page(c, status, k, &views.Notice{Kind: views.NoticeError, Text: text}, typed)
}

// wrong returns the message for an invalid field, as the error itself is in English.
func wrong(c echo.Context, field string) string {
	switch field {
	case "description":
		return page.Say(c, "knowledge.bad.about")
	case "every_seconds":
		return page.Say(c, "knowledge.bad.every")
	case "kind":
		return page.Say(c, "knowledge.bad.kind")
	case "role":
		return page.Say(c, "knowledge.bad.role")
	}
	return page.Say(c, "knowledge.source.bad") + " " + page.Say(c, "knowledge.bad.address")
}

// upload stores the files of a form.
func (h *Handlers) upload(c echo.Context, k store.Collection) error {
	limits := h.Uploads()
	return page.SaveFiles(c, limits, func(ctx context.Context, files *multipart.Reader) error {
		_, err := h.Knowledge.Save(ctx, principal.Owner(ctx), k.ID, files, limits)
		return err
	})
}

// share gives a member a role, revokes it, or ends the reader's own.
func (h *Handlers) share(c echo.Context, k store.Collection, action string, form url.Values) error {
	ctx := c.Request().Context()
	leaves := action == "unshare" && form.Get("member") == principal.Owner(ctx)
	if k.Role != store.ProjectOwner && !leaves {
		return store.ErrNotFound
	}
	if action == "share" {
		return h.changed(c, k, h.Knowledge.Share(ctx, k, principal.Of(ctx).Operator(), page.PlainText(form.Get("email")),
			page.PlainText(form.Get("group")), store.Role(form.Get("role"))), views.Refused{Form: action, Values: form})
	}
	err := h.DB.LeaveCollection(ctx, form.Get("member"), k.ID)
	if leaves && err == nil {
		return c.Redirect(http.StatusSeeOther, views.KnowledgeURL)
	}
	return h.changed(c, k, err, views.Refused{})
}

// opened returns the document in the path with its text.
func (h *Handlers) opened(c echo.Context) (k store.Collection, d store.Document, text string, err error) {
	if k, err = h.found(c); err != nil {
		return k, d, "", err
	}
	id, err := strconv.ParseInt(page.Param(c, "document"), 10, 64)
	if err != nil {
		return k, d, "", store.ErrNotFound
	}
	ctx := c.Request().Context()
	if d, err = h.DB.CollectionDocument(ctx, k.ID, id); err == nil {
		text, err = h.DB.DocumentText(ctx, d.ID)
	}
	return k, d, text, err
}

// document handles GET /workspace/knowledge/:knowledge/documents/:document.
func (h *Handlers) document(c echo.Context) error {
	k, d, text, err := h.opened(c)
	if err != nil {
		return err
	}
	v := views.KnowledgeTextPage{Collection: row(k), Document: document(c, d, false), Address: d.Address}
	v.File = views.FileView{File: views.File{Path: "mnt/user-data/knowledge/" + knowledge.Path(k, d),
		Raw: views.CollectionTextURL(k.ID, d.ID)}}
	if at := c.QueryParam("at"); markdown.IsPlace(at) {
		v.File.At = at
	}
	files.Collected(&v.File, d, text, page.Say(c, "knowledge.doc.empty"))
	if v.Shell, err = h.Shell(c, views.NavKnowledge, ""); err != nil {
		return err
	}
	return page.HTML(c, http.StatusOK, views_knowledge.TextPage(v))
}

// text handles GET /ui/knowledge/:knowledge/documents/:document/text.
func (h *Handlers) text(c echo.Context) error {
	_, d, text, err := h.opened(c)
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "private, no-cache")
	if c.QueryParam("download") != "" {
		header.Set("Content-Disposition", page.Attached(fmt.Sprintf("%s.txt", path.Base(d.Name))))
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
}
