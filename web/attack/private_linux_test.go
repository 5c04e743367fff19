package attack_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox"
	"fawn/web/webtest"
)

// programsVariable names a folder below /opt that belongs to an ordinary user, who cannot
// make one.
const programsVariable = "FAWN_ATTACK_PROGRAMS"

// programFolder makes a folder where people put programs of their own.
func programFolder(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(programsVariable); dir != "" {
		return dir
	}
	must.Do(t, os.MkdirAll("/opt", 0o755))
	dir, err := os.MkdirTemp("/opt", "fawn-attack-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestPrivateFilesAmongPrograms looks for what only the server's user may read, and for keys
// that everybody may read, beside programs that commands see.
func TestPrivateFilesAmongPrograms(t *testing.T) {
	// Alone: what others started before would find the files that are laid out here.
	dir := programFolder(t)
	lay := func(name string, mode fs.FileMode, content string) {
		t.Helper()
		name = filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must.Do(t, os.WriteFile(name, []byte(content), mode))
		must.Do(t, os.Chmod(name, mode))
	}
	lay("app/closed.txt", 0o600, secret+"closed")
	lay("app/.env", 0o644, secret+"env")
	lay("app/.env.production", 0o644, secret+"production")
	lay("app/server.key", 0o644, secret+"key")
	lay("app/server.pem", 0o644, "-----BEGIN PRIVATE KEY-----\n"+secret+"pem")
	lay("app/id_ed25519", 0o644, secret+"ssh")
	lay("app/credentials.json", 0o644, secret+"credentials")
	lay("app/secrets.yaml", 0o644, secret+"secrets")
	lay("private/notes", 0o644, secret+"folder")
	lay("home/.aws/config", 0o644, secret+"aws")
	lay("app/db.conf", 0o644, "[db]\npassword = k33p-"+secret+"0ut\n")
	lay("app/deploy", 0o644, "# "+secret+"deploy\n-----BEGIN OPENSSH PRIVATE KEY-----\n"+
		strings.Repeat("b3BlbnNzaC1rZXktdjEA", 4)+"\n")
	lay("app/old.bak", 0o644, "# "+secret+"bak\nTOKEN=ghp_q7Zt2WvB9xKd4LmR8sYc1HnJ6pFg3TaE5uQw\n")
	lay("app/start.sh", 0o755, "#!/bin/bash\npassword=$1\necho the script for everybody\n")
	lay("app/program", 0o755, "#!/bin/bash\necho the program runs\n")
	lay("app/ca.pem", 0o644, "-----BEGIN CERTIFICATE-----\nfor everybody\n")
	lay("app/secrets.py", 0o644, "code for everybody\n")
	lay("app/.env.example", 0o644, "an example for everybody\n")
	must.Do(t, os.Chmod(filepath.Join(dir, "private"), 0o700))
	for _, provider := range []string{sandbox.ProviderNamespace, sandbox.ProviderLandlock} {
		t.Run(provider, func(t *testing.T) {
			w := newWorld(t, "sandbox: {provider: "+provider+"}\n")
			w.must(t, provider)
			told := w.try(t, "private",
				attack{shell: `cd ` + dir +
					`; for f in app/* app/.env* private/* home/.aws/*; do [ -f $f ] && cat $f; done
cat app/closed.txt app/server.key app/server.pem app/.env app/.env.production app/id_ed25519 app/credentials.json app/secrets.yaml app/db.conf app/deploy app/old.bak private/notes home/.aws/config
cp -r . ~/copy; grep -rh CANARY ~/copy; ls private home/.aws; app/program; app/start.sh`})
			webtest.Holds(t, "private files are shown", told, "!"+secret)
			webtest.Holds(t, "is not shown", told, "the program runs", "\nfor everybody", "code for everybody", "the script for everybody", "an example for everybody")
			webtest.Holds(t, "names in closed folders are shown", told, "!notes\n", "!config\n")
		})
	}
}
