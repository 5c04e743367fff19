// Package page is shared by all pages: frame and headers, forms and answers to the page's script, the reader's
// preferences, the threads of an address, and error pages.
//
// A package of pages embeds a [Site] in its handlers and gives its routes to package ui.
package page

import (
	"context"
	"log/slog"

	"fawn/agent/access"
	"fawn/agent/config"
	"fawn/agent/runs"
	"fawn/sandbox"
	"fawn/sandbox/browser"
	"fawn/sandbox/files"
	"fawn/store"
	"fawn/web/account"
	"fawn/web/hostrules"
)

// Site holds the parts that every page needs. Accounts, Network and Sandbox may be nil.
type Site struct {
	DB       *store.DB
	Runs     *runs.Manager
	Dirs     files.Dirs
	Config   *config.Store
	Accounts *account.Service      // the server's accounts; nil without accounts
	Access   *access.Service       // checks permissions; nil limits nobody
	Network  *hostrules.Decisions  // hosts that agents want to reach
	Sandbox  func() sandbox.Report // reports the command sandbox
	// Known reports whether a person may read the collection's document for a path in a thread; nil has no
	// collections.
	Known    func(ctx context.Context, person, thread, path string) bool
	Browsers *browser.Browsers // the agents' browsers; nil without browsers
	Addr     string            // address of the server
	Log      *slog.Logger
}
