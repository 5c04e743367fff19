package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"fawn/agent/knowledge"
	"fawn/store"
	"fawn/web/api/wire"
	"fawn/web/httpx"
	o "fawn/web/openapi"
	"fawn/web/principal"
	"fawn/web/route"
)

// knowledgeRoutes returns the routes of collections of documents.
func (g *Gateway) knowledgeRoutes() []route.Route {
	const one = "/knowledge/{knowledge_id}"
	return []route.Route{
		route.On("GET", "/knowledge", user, "listKnowledge", g.listKnowledge),
		route.On("POST", "/knowledge", user, "createKnowledge", g.createKnowledge),
		route.On("GET", one, user, "getKnowledge", g.onCollection(g.collection)),
		route.On("PATCH", one, user, "changeKnowledge", g.onCollection(g.changeCollection)),
		route.On("DELETE", one, user, "deleteKnowledge", g.onCollection(g.deleteCollection)),
		route.On("POST", one+"/update", user, "updateKnowledge", g.onCollection(g.updateCollection)),
		route.On("GET", one+"/search", user, "searchKnowledge", g.onCollection(g.searchCollection)),
		route.On("GET", one+"/sources", user, "listKnowledgeSources", g.onCollection(g.collectionSources)),
		route.On("POST", one+"/sources", user, "addKnowledgeSource", g.onCollection(g.addCollectionSource)),
		route.On("DELETE", one+"/sources/{source_id}", user, "removeKnowledgeSource", g.onCollection(g.removeCollectionSource)),
		route.On("POST", one+"/sources/{source_id}/update", user, "updateKnowledgeSource", g.onCollection(g.updateCollection)),
		route.On("GET", one+"/documents", user, "listKnowledgeDocuments", g.onCollection(g.collectionDocuments)),
		route.On("POST", one+"/documents", user, "uploadKnowledgeDocuments", g.onCollection(g.uploadCollectionDocuments)),
		route.On("GET", one+"/documents/{document_id}", user, "getKnowledgeDocument", g.onCollection(g.collectionDocument)),
		route.On("DELETE", one+"/documents/{document_id}", user, "deleteKnowledgeDocument", g.onCollection(g.deleteCollectionDocument)),
		route.On("GET", one+"/members", user, "listKnowledgeMembers", g.onCollection(g.collectionMembers)),
		route.On("POST", one+"/members", user, "shareKnowledge", g.onCollection(g.shareCollection)),
		route.On("DELETE", one+"/members/{member_id}", user, "unshareKnowledge", g.onCollection(g.unshareCollection)),
	}
}

// collectionJSON is the JSON form of a collection.
type collectionJSON struct {
	ID        string `json:"knowledge_id"`
	Name      string `json:"name"`
	About     string `json:"description"`
	Documents int    `json:"document_count"`
	Role      string `json:"role"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func collectionOf(c store.Collection) collectionJSON {
	return collectionJSON{c.ID, c.Name, c.About, c.Documents, string(c.Role), wire.Stamp(c.CreatedAt), wire.Stamp(c.UpdatedAt)}
}

// knowledgeSourceJSON is the JSON form of a source.
type knowledgeSourceJSON struct {
	ID        string  `json:"source_id"`
	Kind      string  `json:"kind"`
	Address   string  `json:"address"`
	Every     int64   `json:"every_seconds"`
	State     string  `json:"state"`
	Problem   string  `json:"problem"`
	Done      int     `json:"done"`
	Total     int     `json:"total"`
	Skipped   int     `json:"skipped"`
	CheckedAt *string `json:"checked_at"`
	NextAt    *string `json:"next_at"`
}

func knowledgeSourceOf(s store.Source) knowledgeSourceJSON {
	at := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		text := wire.Stamp(t)
		return &text
	}
	next := s.NextAt
	if s.State == store.SourcePending {
		next = time.Time{}
	}
	return knowledgeSourceJSON{s.ID, s.Kind, s.Address, int64(s.Every / time.Second), s.State, s.Problem, s.Done, s.Total, s.Skipped,
		at(s.CheckedAt), at(next)}
}

// documentJSON is the JSON form of a collection's document.
type documentJSON struct {
	ID        int64   `json:"document_id"`
	Source    string  `json:"source_id"`
	Name      string  `json:"name"`
	Title     string  `json:"title"`
	Address   string  `json:"address"`
	State     string  `json:"state"`
	Reason    string  `json:"reason"`
	Bytes     int64   `json:"bytes"`
	UpdatedAt string  `json:"updated_at"`
	Text      *string `json:"text,omitempty"`
}

func documentOf(d store.Document) documentJSON {
	return documentJSON{ID: d.ID, Source: d.Source, Name: d.Name, Title: d.Title, Address: d.Address, State: d.State,
		Reason: d.Reason, Bytes: d.Bytes, UpdatedAt: wire.Stamp(d.UpdatedAt)}
}

// onCollection returns a handler that loads the route's collection for the caller.
func (g *Gateway) onCollection(h func(c echo.Context, k store.Collection) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := route.Param(c, "knowledge")
		k, err := g.DB.CollectionFor(c.Request().Context(), g.Owner(c), id)
		if errors.Is(err, store.ErrNotFound) {
			return httpx.Errorf(http.StatusNotFound, "Collection %s not found", route.Cut(id, 80))
		}
		if err == nil {
			err = h(c, k)
		}
		return knowledgeError(err)
	}
}

func knowledgeError(err error) error {
	var bad *knowledge.Invalid
	if errors.As(err, &bad) {
		return httpx.Invalid("body", bad.Field, "%s", bad.Why)
	}
	if many := new(knowledge.Tried); errors.As(err, &many) {
		return httpx.Errorf(http.StatusTooManyRequests, "%s", many)
	}
	return err
}

func collectionWriting(k store.Collection) error {
	if !k.Role.Writes() {
		return httpx.Errorf(http.StatusForbidden, "You can search this collection, but not change it; ask its owner to make you an editor")
	}
	return nil
}

func collectionOwning(k store.Collection) error {
	if k.Role != store.ProjectOwner {
		return httpx.Errorf(http.StatusForbidden, "Only the collection's owner can do that")
	}
	return nil
}

type collectionList struct {
	Knowledge []collectionJSON `json:"knowledge"`
}

func (g *Gateway) listKnowledge(c echo.Context) error {
	list, err := g.DB.Collections(c.Request().Context(), g.Owner(c))
	if err != nil {
		return err
	}
	out := make([]collectionJSON, 0, len(list))
	for _, k := range list {
		out = append(out, collectionOf(k))
	}
	return httpx.JSON(c, http.StatusOK, collectionList{out})
}

// collectionBody is the body of createKnowledge.
type collectionBody struct {
	Name  string `json:"name"`
	About string `json:"description"`
}

func (g *Gateway) createKnowledge(c echo.Context) error {
	var body collectionBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	k, err := g.Knowledge.Create(c.Request().Context(), g.Owner(c), body.Name, body.About)
	if err != nil {
		return knowledgeError(err)
	}
	return httpx.JSON(c, http.StatusCreated, collectionOf(k))
}

func (g *Gateway) collection(c echo.Context, k store.Collection) error {
	return httpx.JSON(c, http.StatusOK, collectionOf(k))
}

// collectionChange is the body of changeCollection.
type collectionChange struct {
	Name  *string `json:"name"`
	About *string `json:"description"`
}

func (g *Gateway) changeCollection(c echo.Context, k store.Collection) error {
	var body collectionChange
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	if err := collectionWriting(k); err != nil {
		return err
	}
	k, err := g.Knowledge.Change(c.Request().Context(), g.Owner(c), k.ID, func(k *store.Collection) error {
		if body.Name != nil {
			k.Name = *body.Name
		}
		if body.About != nil {
			k.About = *body.About
		}
		return nil
	})
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusOK, collectionOf(k))
}

func (g *Gateway) deleteCollection(c echo.Context, k store.Collection) error {
	if err := collectionOwning(k); err != nil {
		return err
	}
	if err := g.Knowledge.Delete(c.Request().Context(), g.Owner(c), k.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// updateCollection schedules reading all sources, or the one in the path.
func (g *Gateway) updateCollection(c echo.Context, k store.Collection) error {
	if err := collectionWriting(k); err != nil {
		return err
	}
	if err := g.Knowledge.Update(c.Request().Context(), g.Owner(c), k.ID, c.Param("source")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// passageJSON is a passage found by a search.
type passageJSON struct {
	Cite     string `json:"cite"`
	Document int64  `json:"document_id"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Page     int    `json:"page"`
	First    int    `json:"start_line"`
	Last     int    `json:"end_line"`
	Heading  string `json:"heading"`
	Text     string `json:"text"`
}

type passageList struct {
	Passages []passageJSON `json:"passages"`
}

func (g *Gateway) searchCollection(c echo.Context, k store.Collection) error {
	limit, err := httpx.Int(c.QueryParams(), "limit", 10, 1, 50)
	if err != nil {
		return err
	}
	query := c.QueryParam("query")
	if strings.TrimSpace(query) == "" {
		return httpx.Invalid("query", "query", "want words to look for")
	}
	hits, err := g.Knowledge.Search(c.Request().Context(), []store.Collection{k}, query, nil, limit)
	if err != nil {
		return err
	}
	out := make([]passageJSON, 0, len(hits))
	for _, h := range hits {
		p := h.Passage
		out = append(out, passageJSON{p.Cite(), h.Document.ID, h.Document.Name, p.Kind, p.Page, p.First, p.Last, p.Heading, p.Text})
	}
	return httpx.JSON(c, http.StatusOK, passageList{out})
}

type knowledgeSourceList struct {
	Sources []knowledgeSourceJSON `json:"sources"`
}

func (g *Gateway) collectionSources(c echo.Context, k store.Collection) error {
	list, err := g.DB.Sources(c.Request().Context(), k.ID)
	if err != nil {
		return err
	}
	out := make([]knowledgeSourceJSON, 0, len(list))
	for _, s := range list {
		out = append(out, knowledgeSourceOf(s))
	}
	return httpx.JSON(c, http.StatusOK, knowledgeSourceList{out})
}

// sourceBody is the body of addCollectionSource.
type sourceBody struct {
	Kind    string `json:"kind"`
	Address string `json:"address"`
	Every   int64  `json:"every_seconds"`
}

func (g *Gateway) addCollectionSource(c echo.Context, k store.Collection) error {
	var body sourceBody
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	if err := collectionWriting(k); err != nil {
		return err
	}
	if body.Every < 0 || body.Every > 1<<30 {
		return httpx.Invalid("body", "every_seconds", "want 0 or more")
	}
	ctx := c.Request().Context()
	s, err := g.Knowledge.AddSource(ctx, g.Owner(c), principal.Of(ctx).Operator(), store.Source{Collection: k.ID,
		Kind: body.Kind, Address: body.Address, Every: time.Duration(body.Every) * time.Second})
	if err != nil {
		return err
	}
	return httpx.JSON(c, http.StatusCreated, knowledgeSourceOf(s))
}

func (g *Gateway) removeCollectionSource(c echo.Context, k store.Collection) error {
	if err := collectionWriting(k); err != nil {
		return err
	}
	if err := g.Knowledge.RemoveSource(c.Request().Context(), g.Owner(c), k.ID, route.Param(c, "source")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

type documentList struct {
	Count     int            `json:"count"` // total number, including other pages
	Documents []documentJSON `json:"documents"`
}

func (g *Gateway) collectionDocuments(c echo.Context, k store.Collection) error {
	limit, err := httpx.Int(c.QueryParams(), "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	offset, err := httpx.Int(c.QueryParams(), "offset", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	list, err := g.DB.CollectionDocuments(c.Request().Context(), k.ID, offset, limit)
	if err != nil {
		return err
	}
	out := make([]documentJSON, 0, len(list))
	for _, d := range list {
		out = append(out, documentOf(d))
	}
	return httpx.JSON(c, http.StatusOK, documentList{k.Documents, out})
}

// storedDocuments lists the stored files of an upload, and the names of the others.
type storedDocuments struct {
	Files   []storedDocument `json:"files"`
	Skipped []string         `json:"skipped_files"`
}

type storedDocument struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

func (g *Gateway) uploadCollectionDocuments(c echo.Context, k store.Collection) error {
	if err := collectionWriting(k); err != nil {
		return err
	}
	form, limits, err := g.UploadForm(c)
	if err != nil {
		return err
	}
	out, err := g.Knowledge.Save(c.Request().Context(), g.Owner(c), k.ID, form, limits)
	if err != nil {
		return route.UploadError(err, limits)
	}
	files := []storedDocument{}
	for _, f := range out.Files {
		files = append(files, storedDocument{f.Filename, f.Size})
	}
	return httpx.JSON(c, http.StatusOK, storedDocuments{files, append([]string{}, out.SkippedFiles...)})
}

// document returns the document in the path.
func (g *Gateway) document(c echo.Context, k store.Collection) (store.Document, error) {
	id, err := strconv.ParseInt(c.Param("document"), 10, 64)
	d := store.Document{}
	if err == nil {
		d, err = g.DB.CollectionDocument(c.Request().Context(), k.ID, id)
	} else {
		err = store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		err = httpx.Errorf(http.StatusNotFound, "Document %s not found", route.Cut(c.Param("document"), 80))
	}
	return d, err
}

func (g *Gateway) collectionDocument(c echo.Context, k store.Collection) error {
	d, err := g.document(c, k)
	if err != nil {
		return err
	}
	text, err := g.DB.DocumentText(c.Request().Context(), d.ID)
	if err != nil {
		return err
	}
	out := documentOf(d)
	out.Text = &text
	return httpx.JSON(c, http.StatusOK, out)
}

func (g *Gateway) deleteCollectionDocument(c echo.Context, k store.Collection) error {
	if err := collectionWriting(k); err != nil {
		return err
	}
	d, err := g.document(c, k)
	if err != nil {
		return err
	}
	err = g.Knowledge.Remove(c.Request().Context(), g.Owner(c), k.ID, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusConflict, "Document %d was not uploaded: it goes with its source", d.ID)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// collectionMember is a member of a collection, by name.
type collectionMember struct {
	ID    string `json:"member_id"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Email string `json:"email"`
	Role  string `json:"role"`
}

type collectionMembers struct {
	Members []collectionMember `json:"members"`
}

func (g *Gateway) namedMember(ctx context.Context, m store.Member) (collectionMember, error) {
	one := collectionMember{ID: m.ID, Kind: "user", Role: string(m.Role)}
	if group, ok := store.MemberGroup(m.ID); ok {
		one.Kind = "group"
		t, err := g.DB.Team(ctx, group)
		one.Name = t.Name
		return one, gone(err)
	}
	u, err := g.DB.User(ctx, m.ID)
	one.Name, one.Email = cmp.Or(u.Name, u.Email), u.Email
	return one, gone(err)
}

// gone ignores accounts that no longer exist.
func gone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func (g *Gateway) collectionMembers(c echo.Context, k store.Collection) error {
	ctx := c.Request().Context()
	list, err := g.DB.CollectionMembers(ctx, k.ID)
	if err != nil {
		return err
	}
	out := []collectionMember{}
	for _, m := range append([]store.Member{{ID: k.Owner, Role: store.ProjectOwner}}, list...) {
		one, err := g.namedMember(ctx, m)
		if err != nil {
			return err
		}
		out = append(out, one)
	}
	return httpx.JSON(c, http.StatusOK, collectionMembers{out})
}

// sharing is the body of shareCollection.
type sharing struct {
	Email string `json:"email"`
	Group string `json:"group"`
	Role  string `json:"role"`
}

// shareCollection gives an account or a group a role in a collection, or changes it.
func (g *Gateway) shareCollection(c echo.Context, k store.Collection) error {
	var body sharing
	if err := g.BindStrict(c, &body); err != nil {
		return err
	}
	if err := collectionOwning(k); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := g.Knowledge.Share(ctx, k, principal.Of(ctx).Operator(), body.Email, body.Group, store.Role(body.Role)); err != nil {
		return err
	}
	return g.collectionMembers(c, k)
}

// unshareCollection ends a role: the owner revokes it, or the member leaves.
func (g *Gateway) unshareCollection(c echo.Context, k store.Collection) error {
	who := route.Param(c, "member")
	if who != g.Owner(c) {
		if err := collectionOwning(k); err != nil {
			return err
		}
	}
	err := g.DB.LeaveCollection(c.Request().Context(), who, k.ID)
	if errors.Is(err, store.ErrNotFound) { // a group is also known by its plain id
		err = g.DB.LeaveCollection(c.Request().Context(), store.GroupMember(who), k.ID)
	}
	if errors.Is(err, store.ErrNotFound) {
		return httpx.Errorf(http.StatusNotFound, "Collection %s isn't shared with %s", k.ID, route.Cut(who, 80))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// describeKnowledge returns the routes of collections of documents.
func describeKnowledge() []o.Op {
	const tag = "Knowledge"
	one := route.Answered("The collection", o.Ref("Knowledge"))
	members := route.Answered("The owner, then the others", o.Of[collectionMembers](o.Is("members",
		o.List(o.Of[collectionMember](o.Is("kind", o.Enum("user", "group")), o.Is("role", o.Enum("owner", "editor", "viewer")))))))
	return []o.Op{
		{ID: "listKnowledge", Tag: tag, Text: "List the collections that you own or share",
			Out: route.Answered("The collections by name", o.Of[collectionList](o.Is("knowledge", o.List(o.Ref("Knowledge")))))},
		{ID: "createKnowledge", Tag: tag, Text: "Create a collection", Need: true,
			Body: o.Reads[collectionBody](o.Req("name", o.String())),
			Out:  []o.Answer{{Status: 201, Text: "The collection", Schema: o.Ref("Knowledge")}}},
		{ID: "getKnowledge", Tag: tag, Text: "Get a collection", Out: one},
		{ID: "changeKnowledge", Tag: tag, Text: "Change a collection; absent fields stay",
			Body: o.Reads[collectionChange](), Out: one},
		{ID: "deleteKnowledge", Tag: tag, Text: "Delete a collection and its documents", Out: route.Emptied("Deleted")},
		{ID: "updateKnowledge", Tag: tag, Text: "Have all sources of a collection read again", Out: route.Emptied("Soon")},
		{ID: "searchKnowledge", Tag: tag, Text: "Search a collection",
			Query: []o.Param{{Name: "query", Schema: o.String()}, {Name: "limit", Schema: o.Int(1)}},
			Out: route.Answered("The passages that fit best", o.Of[passageList](o.Is("passages", o.List(o.Of[passageJSON](
				o.Is("document_id", o.Int(1)), o.Is("page", o.Int(0)), o.Is("start_line", o.Int(1)), o.Is("end_line", o.Int(1))))))), Fail: []int{422}},
		{ID: "listKnowledgeSources", Tag: tag, Text: "List the sources of a collection",
			Out: route.Answered("The sources", o.Of[knowledgeSourceList](o.Is("sources", o.List(o.Ref("KnowledgeSource")))))},
		{ID: "addKnowledgeSource", Tag: tag, Text: "Add a source to a collection", Need: true,
			More: "Folders are those of the server that knowledge.folders allows, and only its operators add them.",
			Body: o.Reads[sourceBody](o.Req("kind", o.Enum("folder", "web", "git")), o.Req("address", o.String()), o.Is("every_seconds", o.Int(0))),
			Out:  []o.Answer{{Status: 201, Text: "The source", Schema: o.Ref("KnowledgeSource")}}},
		{ID: "removeKnowledgeSource", Tag: tag, Text: "Remove a source and its documents", Out: route.Emptied("Removed")},
		{ID: "updateKnowledgeSource", Tag: tag, Text: "Have a source read again", Out: route.Emptied("Soon")},
		{ID: "listKnowledgeDocuments", Tag: tag, Text: "List the documents of a collection, those that failed first",
			Query: []o.Param{{Name: "limit", Schema: o.Int(1)}, {Name: "offset", Schema: o.Int(0)}},
			Out: route.Answered("The documents", o.Of[documentList](o.Is("documents", o.List(o.Ref("KnowledgeDocument"))),
				o.Is("count", o.Int(0)))), Fail: []int{422}},
		{ID: "uploadKnowledgeDocuments", Tag: tag, Text: "Add documents to a collection, or replace those of the same names", Form: "files",
			Out: route.Answered("What was stored", o.Of[storedDocuments](o.Is("files", o.List(o.Of[storedDocument](o.Is("size", o.Int(0))))))), Fail: []int{400, 413, 507}},
		{ID: "getKnowledgeDocument", Tag: tag, Text: "Get a document with its text",
			Out: route.Answered("The document", o.Ref("KnowledgeDocument"))},
		{ID: "deleteKnowledgeDocument", Tag: tag, Text: "Delete an uploaded document", Out: route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "listKnowledgeMembers", Tag: tag, Text: "List who can use a collection", Out: members},
		{ID: "shareKnowledge", Tag: tag, Text: "Share a collection with a user or a group, or change their role", Need: true,
			More: "Only its owner can. Viewers search it, editors change its sources and documents, too.",
			Body: o.Reads[sharing](o.Req("role", o.Enum("viewer", "editor"))), Out: members,
			Fail: []int{429}},
		{ID: "unshareKnowledge", Tag: tag, Text: "Stop sharing a collection, or leave it", Out: route.Emptied("Done")},
	}
}

// knowledgeSchemas returns the schemas of describeKnowledge.
func knowledgeSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"Knowledge": o.Of[collectionJSON](o.Is("document_count", o.Int(0)), o.Is("role", o.Enum("owner", "editor", "viewer"))),
		"KnowledgeSource": o.Of[knowledgeSourceJSON](o.Is("kind", o.Enum("upload", "folder", "web", "git")),
			o.Is("every_seconds", o.Int(0)), o.Is("state", o.Enum("pending", "ready", "failed")), o.Is("done", o.Int(0)),
			o.Is("total", o.Int(0)), o.Is("skipped", o.Int(0))),
		"KnowledgeDocument": o.Of[documentJSON](o.Is("document_id", o.Int(1)), o.Is("bytes", o.Int(0)),
			o.Is("state", o.Enum("pending", "converted", "partial", "failed"))),
	}
}
