// Command cmd measures Fawn under load and prints a Markdown table; it exits with 1 if a figure exceeds its limit. `make bench` runs it.
//
// It starts itself again as the scripted model, as the relay and as MCP servers, so that their CPU time is counted separately.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"fawn/agent/mcp/mcptest"
	"fawn/sandbox/ns"
	"fawn/web/e2e/load"
	"fawn/web/e2e/scriptmodel"
)

var errOverLimit = errors.New("a figure is over its limit")

func main() {
	ns.Reexec()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	run := bench
	args := os.Args[1:]
	if len(args) == 2 && args[0] == "mcp" && mcptest.Serve(args[1]) {
		return
	}
	if len(args) > 0 && (args[0] == "model" || args[0] == "relay") {
		run = serve
	}
	if err := run(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// copyOf copies a program into a folder in small writes, as installers do. The page cache keeps a file in blocks as
// large as its writes and maps them whole: the same binary has 7 MB more resident when written by the linker, and 27
// MB more when written at once.
func copyOf(bin, dir, name string) (string, error) {
	from, err := os.Open(bin)
	if err != nil {
		return "", err
	}
	defer from.Close()
	path := filepath.Join(dir, name)
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from}) // the kernel could otherwise copy it in one piece
	return path, errors.Join(err, to.Close())
}

func bench(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	bin := flags.String("bin", "bin/fawn", "Fawn's binary")
	base := flags.String("base", "", "an earlier binary of Fawn, for the scenario against")
	quick := flags.Bool("quick", false, "one short round of everything")
	seconds := flags.Int("seconds", 0, "length of the paced streams (default 10, quick 3)")
	only := flags.String("only", "",
		"scenarios by regular expression: start first counts against unpaced paced many day thread prefix crowd lists recovery helpers chaos documents sandbox")
	pprof := flags.String("pprof", "", "loopback address at which Fawn's profiles are served while it is measured")
	keep := flags.Bool("keep", false, "keep the scratch folder with data and logs")
	flags.Parse(args)

	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := load.Options{Helper: []string{self}, Quick: *quick, Seconds: *seconds, Pprof: *pprof, Log: os.Stderr}
	if *only != "" {
		if o.Only, err = regexp.Compile(*only); err != nil {
			return err
		}
	}
	if o.Dir, err = os.MkdirTemp("", "fawn-bench-"); err != nil {
		return err
	}
	if *keep {
		fmt.Fprintln(os.Stderr, "scratch folder:", o.Dir)
	} else {
		defer os.RemoveAll(o.Dir)
	}
	if o.Bin, err = copyOf(*bin, o.Dir, "fawn"); err != nil {
		return err
	}
	if *base != "" {
		if o.Base, err = copyOf(*base, o.Dir, "earlier"); err != nil {
			return err
		}
	}
	report, err := load.Run(ctx, o)
	if report != nil {
		if werr := report.Write(os.Stdout); werr != nil {
			return werr
		}
	}
	if err == nil && report.Failed() {
		err = errOverLimit
	}
	return err
}

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on")
	upstream := flags.String("upstream", "", "the model's address, for the relay")
	flags.Parse(args[1:])

	mux := http.NewServeMux()
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if args[0] == "relay" {
		mux.Handle("/", load.Relay(*upstream))
	} else {
		mux.Handle("/", scriptmodel.New())
	}
	srv := &http.Server{Addr: *addr, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		srv.Close()
	}()
	if err := srv.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
