package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fawn/web"
	"fawn/web/client"
)

// toldEvery is the interval of reporting a source's progress.
const toldEvery = 2 * time.Second

// Knowledge holds the common options of commands on collections.
type Knowledge struct {
	Name     string // name or id of the collection
	JSON     bool   // print one object
	NoWait   bool   // return while sources are being read
	Progress io.Writer
}

// KnowledgeAdd holds the additions to a collection.
type KnowledgeAdd struct {
	Sources []string // files, folders and addresses
	Kind    string   // kind of all of them; "" detects it
	About   string   // the collection's new description, "" for none
	Every   time.Duration
}

// collected is the JSON output of add and refresh.
type collected struct {
	Knowledge client.Collection `json:"knowledge"`
	Sources   []client.Source   `json:"sources"`
	Uploaded  []string          `json:"uploaded"`
	Failed    []client.Document `json:"failed"`
}

// serving calls do with a server.
func (to Reach) serving(ctx context.Context, o web.Options, do func(client.Server) error) error {
	server, done, err := to.open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(do(server), done())
}

// ListKnowledge prints the collections that the caller owns or shares.
func ListKnowledge(ctx context.Context, o web.Options, to Reach, k Knowledge) error {
	return to.serving(ctx, o, func(s client.Server) error {
		list, err := s.Collections(ctx)
		switch {
		case err != nil:
			return err
		case k.JSON:
			return client.ShowJSON(o.Out, map[string]any{"knowledge": append([]client.Collection{}, list...)})
		case len(list) == 0:
			fmt.Fprintln(k.Progress, "there are no collections; make one with fawn knowledge add NAME FILE")
		}
		return client.ShowCollections(o.Out, list)
	})
}

// ShowKnowledge prints a collection with its sources and documents, or the text of one document.
func ShowKnowledge(ctx context.Context, o web.Options, to Reach, k Knowledge, document string) error {
	return to.serving(ctx, o, func(s client.Server) error {
		c, err := s.Collection(ctx, k.Name)
		if err != nil {
			return err
		}
		documents, err := s.Documents(ctx, c)
		if err != nil {
			return err
		}
		if document != "" {
			at := slices.IndexFunc(documents, func(d client.Document) bool {
				return d.Name == document || strconv.FormatInt(d.ID, 10) == document
			})
			if at < 0 {
				return &client.Mistake{Why: fmt.Sprintf("%s has no document %q", c.Name, document)}
			}
			d, err := s.Document(ctx, c, documents[at].ID)
			if err != nil || !k.JSON {
				return errors.Join(err, client.ShowText(o.Out, d))
			}
			return client.ShowJSON(o.Out, d)
		}
		sources, err := s.Sources(ctx, c)
		if err != nil {
			return err
		}
		if k.JSON {
			return client.ShowJSON(o.Out, map[string]any{"knowledge": c, "sources": sources,
				"documents": append([]client.Document{}, documents...)})
		}
		return client.ShowCollection(o.Out, c, sources, documents)
	})
}

// SearchKnowledge prints the passages of a collection that fit a query best.
func SearchKnowledge(ctx context.Context, o web.Options, to Reach, k Knowledge, query string, limit int) error {
	return to.serving(ctx, o, func(s client.Server) error {
		c, err := s.Collection(ctx, k.Name)
		if err != nil {
			return err
		}
		list, err := s.SearchCollection(ctx, c, query, limit)
		switch {
		case err != nil:
			return err
		case k.JSON:
			return client.ShowJSON(o.Out, map[string]any{"passages": append([]client.Passage{}, list...)})
		case len(list) == 0:
			fmt.Fprintf(k.Progress, "nothing in %s fits\n", c.Name)
		}
		return client.ShowPassages(o.Out, list)
	})
}

// AddKnowledge adds files, folders, web pages and repositories to a collection, which it creates if missing, and waits
// until they are read. ok is false if something couldn't be read.
func AddKnowledge(ctx context.Context, o web.Options, to Reach, k Knowledge, add KnowledgeAdd) (ok bool, err error) {
	files, sources, err := add.sort()
	if err != nil {
		return false, err
	}
	err = to.serving(ctx, o, func(s client.Server) error {
		c, made, err := s.EnsureCollection(ctx, k.Name, add.About)
		if err != nil {
			return err
		}
		out := collected{Knowledge: c, Uploaded: []string{}}
		var ids []string
		err = func() error {
			for _, one := range sources {
				src, err := s.AddSource(ctx, c, one.Kind, one.Address, add.Every)
				if err != nil {
					return fmt.Errorf("add %s: %w", one.Address, err)
				}
				ids = append(ids, src.ID)
			}
			for _, file := range files {
				name, err := s.UploadDocument(ctx, c, file)
				if err != nil {
					return err
				}
				out.Uploaded = append(out.Uploaded, name)
			}
			return nil
		}()
		if err != nil {
			if made && len(ids)+len(out.Uploaded) == 0 { // restore the previous state
				err = errors.Join(err, s.RemoveCollection(context.WithoutCancel(ctx), c))
			}
			return err
		}
		ok, err = k.read(ctx, o, s, &out, func(src client.Source) bool {
			return slices.Contains(ids, src.ID) || src.Kind == client.UploadSource && len(files) > 0
		})
		return err
	})
	return ok, err
}

// sort separates files to upload from sources that the server reads.
func (add KnowledgeAdd) sort() (files []string, sources []client.Source, err error) {
	named := map[string]string{}
	for _, one := range add.Sources {
		kind, address := add.Kind, one
		if kind == "" {
			if kind, err = kindOf(one); err != nil {
				return nil, nil, err
			}
		}
		switch kind {
		case client.UploadSource:
			info, err := os.Stat(one)
			if err != nil {
				return nil, nil, err
			}
			if !info.Mode().IsRegular() {
				return nil, nil, fmt.Errorf("%s isn't a file", one)
			}
			name := filepath.Base(one)
			if other, taken := named[name]; taken {
				return nil, nil, &client.Mistake{Why: fmt.Sprintf("%s and %s have the same name, so one would replace the other", other, one)}
			}
			named[name] = one
			files = append(files, one)
			continue
		case client.FolderSource:
			if address, err = filepath.Abs(one); err != nil {
				return nil, nil, err
			}
		}
		sources = append(sources, client.Source{Kind: kind, Address: address})
	}
	if add.Every > 0 && len(sources) == 0 {
		return nil, nil, &client.Mistake{Why: "--every is for folders, web pages and repositories: files change when they are added again"}
	}
	return files, sources, nil
}

// kindOf detects the kind of a source: an address that ends in .git is a repository.
func kindOf(source string) (string, error) {
	if u, err := url.Parse(source); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		if strings.HasSuffix(u.Path, ".git") {
			return client.GitSource, nil
		}
		return client.WebSource, nil
	}
	if scheme, _, address := strings.Cut(source, "://"); address {
		if strings.EqualFold(scheme, "git") {
			return client.GitSource, nil // the server says which of them it reads
		}
		return "", &client.Mistake{Why: source + ": only http and https addresses and git repositories can be read"}
	}
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return client.FolderSource, nil
	}
	return client.UploadSource, nil
}

// RefreshKnowledge requests reading a source of a collection, or all of them for "", and waits for it. ok is false if one
// couldn't be read.
func RefreshKnowledge(ctx context.Context, o web.Options, to Reach, k Knowledge, source string) (ok bool, err error) {
	err = to.serving(ctx, o, func(s client.Server) error {
		c, err := s.Collection(ctx, k.Name)
		if err != nil {
			return err
		}
		id := ""
		if source != "" {
			src, err := sourceOf(ctx, s, c, source)
			if err != nil {
				return err
			}
			id = src.ID
		}
		if err := s.Refresh(ctx, c, id); err != nil {
			return err
		}
		ok, err = k.read(ctx, o, s, &collected{Knowledge: c, Uploaded: []string{}}, func(src client.Source) bool {
			return id == "" || src.ID == id
		})
		return err
	})
	return ok, err
}

// sourceOf finds a source by its address or id. Errors: *client.Mistake.
func sourceOf(ctx context.Context, s client.Server, c client.Collection, name string) (client.Source, error) {
	list, err := s.Sources(ctx, c)
	if err != nil {
		return client.Source{}, err
	}
	folder, _ := filepath.Abs(name) // on errors it is "", which matches nothing
	var names []string
	for _, src := range list {
		if src.ID == name || src.Address != "" && (src.Address == name || src.Kind == client.FolderSource && src.Address == folder) {
			return src, nil
		}
		if src.Address != "" {
			names = append(names, src.Address)
		}
	}
	if len(names) == 0 {
		return client.Source{}, &client.Mistake{Why: fmt.Sprintf("%s has no source %q: only uploaded files", c.Name, name)}
	}
	return client.Source{}, &client.Mistake{Why: fmt.Sprintf("%s has no source %q; it has: %s", c.Name, name, strings.Join(names, ", "))}
}

// read waits until sources are read, and reports the results.
func (k Knowledge) read(ctx context.Context, o web.Options, s client.Server, out *collected, pick func(client.Source) bool) (ok bool, err error) {
	if k.NoWait {
		if out.Sources, err = s.Sources(ctx, out.Knowledge); err != nil {
			return false, err
		}
		out.Sources = slices.DeleteFunc(out.Sources, func(src client.Source) bool { return !pick(src) })
	} else {
		told := time.Now()
		out.Sources, err = s.Settled(ctx, out.Knowledge, pick, func(src client.Source) {
			if time.Since(told) > toldEvery {
				told = time.Now()
				fmt.Fprintln(k.Progress, client.SourceLine(src))
			}
		})
		if err != nil {
			return false, err
		}
	}
	documents, err := s.Documents(ctx, out.Knowledge)
	if err != nil {
		return false, err
	}
	ok, out.Failed = true, []client.Document{}
	for _, src := range out.Sources {
		ok = ok && !src.Failed()
		if src.Kind == client.UploadSource {
			out.Failed = append(out.Failed, client.FailedAmong(documents, src.ID, out.Uploaded)...)
		}
	}
	if c, err := s.Collection(ctx, out.Knowledge.ID); err == nil {
		out.Knowledge = c // with the current number of documents
	}
	ok = ok && len(out.Failed) == 0
	if k.JSON {
		return ok, client.ShowJSON(o.Out, out)
	}
	for _, src := range out.Sources {
		if src.Kind != client.UploadSource || src.Pending() || src.Failed() {
			fmt.Fprintln(o.Out, client.SourceLine(src))
		}
	}
	for _, name := range out.Uploaded {
		at := slices.IndexFunc(documents, func(d client.Document) bool { return d.Name == name })
		one := client.Document{Name: name, State: "pending"}
		if at >= 0 {
			one = documents[at]
		}
		fmt.Fprintln(o.Out, client.DocumentLine(one))
	}
	return ok, client.ShowCollections(o.Out, []client.Collection{out.Knowledge})
}

// RemoveKnowledge deletes a collection, or with what a source or an uploaded document of it. Deleting a collection
// requires a person's confirmation on in, unless sure is set.
func RemoveKnowledge(ctx context.Context, o web.Options, to Reach, k Knowledge, what string, sure bool, in io.Reader) error {
	return to.serving(ctx, o, func(s client.Server) error {
		c, err := s.Collection(ctx, k.Name)
		if err != nil {
			return err
		}
		gone := c.Name
		switch {
		case what != "":
			if gone, err = removePart(ctx, s, c, what); err != nil {
				return err
			}
		default:
			if !sure {
				fmt.Fprintf(k.Progress, "%s is deleted with its documents (%d). Go on? [y/N] ", c.Name, c.Documents)
				answer, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
				if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
					return errors.New("nothing was deleted: say y, or use --yes")
				}
			}
			if err := s.RemoveCollection(ctx, c); err != nil {
				return err
			}
		}
		if k.JSON {
			return client.ShowJSON(o.Out, map[string]string{"removed": gone})
		}
		_, err = fmt.Fprintf(o.Out, "removed %s\n", gone)
		return err
	})
}

// removePart removes an uploaded document by its name, or a source by its address or id.
func removePart(ctx context.Context, s client.Server, c client.Collection, what string) (string, error) {
	documents, err := s.Documents(ctx, c)
	if err != nil {
		return "", err
	}
	sources, err := s.Sources(ctx, c)
	if err != nil {
		return "", err
	}
	for _, d := range documents {
		uploaded := slices.ContainsFunc(sources, func(src client.Source) bool { return src.ID == d.Source && src.Kind == client.UploadSource })
		if uploaded && (d.Name == what || strconv.FormatInt(d.ID, 10) == what) {
			return d.Name, s.RemoveDocument(ctx, c, d.ID)
		}
	}
	src, err := sourceOf(ctx, s, c, what)
	if err != nil {
		return "", err
	}
	return src.Address, s.RemoveSource(ctx, c, src.ID)
}
