package backup

import (
	"path"
	"slices"
	"strings"
)

// class determines how a backup treats an entry of a data folder.
type class int

const (
	data          class = iota
	passing             // rebuilt on demand, or specific to this machine
	secret              // keys and certificates
	configuration       // may have keys in it
	thread              // the folder of a thread
)

// kind classifies a path in a data folder.
func kind(name string, dir bool) class {
	parts := strings.Split(name, "/")
	base := path.Base(name)
	switch {
	case len(parts) == 1 && isPassing(name, dir),
		len(parts) >= 4 && parts[0] == "threads" && parts[2] == "sandbox" && parts[3] == "tmp":
		return passing
	case len(parts) == 2 && parts[0] == "threads" && dir:
		return thread
	case parts[0] == "threads", len(parts) > 1 && parts[0] == "projects":
		return data
	case len(parts) == 1 && dir && slices.Contains([]string{"acme", "certs", "tls"}, name), !dir && isSecret(base):
		return secret
	case !dir && slices.Contains([]string{"config.yaml", "extensions_config.json", "settings.yaml"}, name):
		return configuration
	}
	return data
}

// isPassing reports whether an entry of a data folder is a cache, a lock, or a leftover.
func isPassing(name string, dir bool) bool {
	if dir {
		return slices.Contains([]string{"backups", "converter", "documents", "pictures", "program", "run", "shown",
			"skills-shown", "skills-shown.tmp", "skills-waiting"}, name) ||
			strings.HasPrefix(name, ".") || strings.HasPrefix(name, asidePrefix)
	}
	return name == "lock" || name == "reserve" || strings.HasPrefix(name, ".probe-") ||
		strings.HasPrefix(name, "fawn") && (strings.HasSuffix(name, ".db") || strings.HasSuffix(name, ".db-wal") ||
			strings.HasSuffix(name, ".db-shm"))
}

// isSecret reports whether a file contains only keys.
func isSecret(base string) bool {
	return slices.Contains([]string{".pem", ".key", ".p12", ".pfx"}, strings.ToLower(path.Ext(base))) ||
		base == ".env" || strings.HasSuffix(base, ".env")
}

// inThread reports whether a path is among the files of a thread or project, where links are allowed.
func inThread(name string) bool {
	parts := strings.Split(name, "/")
	return len(parts) >= 4 && (parts[0] == "threads" || parts[0] == "projects")
}
