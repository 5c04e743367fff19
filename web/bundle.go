package web

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"go.yaml.in/yaml/v4"

	"fawn/agent/config"
	"fawn/agent/lead"
	"fawn/store"
	"fawn/web/openapi"
	"fawn/web/redact"
	"fawn/web/route"
)

// SupportBundle writes an archive that describes the installation for support: doctor, versions, configuration and
// counts, without secrets and chats. Parts that can't be determined are replaced by an explanation.
func SupportBundle(ctx context.Context, o Options, path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	parts := map[string][]byte{}
	if dir, err := config.DataDir(o.Data); err == nil {
		parts["database.json"] = shapeIn(ctx, o, dir)
	}
	err = errors.Join(bundle(ctx, o, parts, f), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	fmt.Fprintf(o.Out, "Wrote %s. Look through it before you pass it on.\n", path)
	return nil
}

// shapeIn reports how full the database of a folder is, unless a server has it open.
func shapeIn(ctx context.Context, o Options, dir string) []byte {
	db, _, err := OpenStore(ctx, o, dir)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	defer db.Close()
	return shapeOf(ctx, db)
}

func shapeOf(ctx context.Context, db *store.DB) []byte {
	shape, err := db.Shape(ctx)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return indentedJSON(shape)
}

func indentedJSON(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return append(b, '\n')
}

// bundle writes the archive: parts, and information available without a server. Every text is searched for secrets once
// more.
func bundle(ctx context.Context, o Options, parts map[string][]byte, w io.Writer) error {
	var secrets redact.Redactor
	var doctor bytes.Buffer
	own := o
	own.Out = &doctor
	all := maps.Clone(parts)
	if o.Doctor != nil {
		if _, err := o.Doctor(ctx, own); err != nil {
			fmt.Fprintf(&doctor, "%v\n", err)
		}
		all["doctor.txt"] = doctor.Bytes()
	}
	all["version.txt"] = fmt.Appendf(nil, "fawn %s %s %s/%s, %d CPUs, %s\n", o.Version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH, runtime.NumCPU(), time.Now().UTC().Format(time.RFC3339))
	if dir, err := config.DataDir(o.Data); err == nil {
		snap, err := config.Load(config.Options{Config: o.Config, DataDir: dir, Classes: lead.Classes()})
		if err != nil {
			all["config.yaml"] = []byte("# " + strings.ReplaceAll(err.Error(), "\n", "\n# ") + "\n")
		} else {
			secrets.Know(snap.SecretValues())
			all["config.yaml"] = asYAML(snap.File)
			all["extensions.yaml"] = asYAML(snap.Extensions)
		}
	}
	home, _ := os.UserHomeDir() // without one nothing is replaced
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := secrets.Text(string(all[name]))
		if len(home) > 1 {
			text = strings.ReplaceAll(text, home, "~")
		}
		part, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			return fmt.Errorf("write the bundle: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

// asYAML returns a part of the configuration with secrets masked by type.
func asYAML(v any) []byte {
	b, err := yaml.Marshal(v)
	if err != nil {
		return []byte("# " + err.Error() + "\n")
	}
	return b
}

// supportBundle handles GET /api/support-bundle: the bundle of a server that runs, with the end of its log.
func (a *App) supportBundle(c echo.Context) error {
	ctx := c.Request().Context()
	parts := map[string][]byte{"database.json": shapeOf(ctx, a.data.db), "health.json": indentedJSON(a.state(true))}
	if h, ok := a.opts.Log.Handler().(*logHandler); ok {
		parts["log.txt"] = h.tail.Bytes()
	}
	var b bytes.Buffer
	if err := bundle(ctx, a.opts, parts, &b); err != nil {
		return err
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="fawn-support.zip"`)
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, "application/zip", b.Bytes())
}

// describeBundle returns the routes of support bundles.
func describeBundle() openapi.Op {
	return openapi.Op{ID: "getSupportBundle", Method: http.MethodGet, Path: "/api/support-bundle", Tag: "Server",
		Text: "An archive that tells somebody who helps what the installation is like: doctor, configuration, counts and the " +
			"end of the log, without secrets and chats",
		Out: route.Filed(200, "A zip archive", "application/zip")}
}
