package files

import (
	"runtime"
	"strings"
)

// ignored reports whether a name is left out of listings and searches: version
// control, dependencies, caches, build output, editor and temporary files, and the outputs of
// tools that were too long to show. They can be read by their path.
func ignored(name string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		name = strings.ToLower(name)
	}
	switch name {
	case ".git", ".svn", ".hg", ".bzr",
		"node_modules", "__pycache__", ".venv", "venv", ".env", "env", ".tox", ".nox", ".eggs", "site-packages",
		"dist", "build", ".next", ".nuxt", ".output", ".turbo", "target", "out",
		".idea", ".vscode", ".project", ".classpath", ".settings",
		".DS_Store", ".ds_store", "Thumbs.db", "thumbs.db", "desktop.ini",
		".cache", "logs", ".coverage", "coverage", ".nyc_output", "htmlcov",
		".tool-results", ".browser",
		".pytest_cache", ".mypy_cache", ".ruff_cache":
		return true
	}
	if strings.HasPrefix(name, ".upload-") && strings.HasSuffix(name, ".part") {
		return true
	}
	for _, end := range []string{
		".egg-info", ".swp", ".swo", "~", ".lnk", ".log", ".tmp", ".temp", ".bak", ".cache",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
