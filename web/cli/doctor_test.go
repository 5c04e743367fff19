package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/ns"
	"fawn/web"
	"fawn/web/cli"
	"fawn/web/webtest"
)

func TestMain(m *testing.M) {
	ns.Reexec() // doctor tries the sandboxes, which start this program again
	os.Exit(m.Run())
}

func TestDoctorSaysWhoMayUseTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ addr, conf, says string }{
		{"127.0.0.1:0", "", "not needed"},
		{"0.0.0.0:0", "", "ok    accounts      needed"},
		{"127.0.0.1:0", "server: {base_path: /fawn}\n", "Set auth.required: always"},
		{"127.0.0.1:0", "auth: {required: always}\n", "name it in server.trusted_proxies"},
		{"0.0.0.0:0", "auth: {required: never}\n", "has the owner's rights"},
	} {
		conf := filepath.Join(t.TempDir(), "config.yaml")
		must.Do(t, os.WriteFile(conf, []byte(c.conf), 0o600))
		var out bytes.Buffer
		_, err := cli.Doctor(t.Context(), web.Options{Addr: c.addr, Data: t.TempDir(), Config: conf, Out: &out})
		if err != nil {
			t.Error(err)
		}
		webtest.Holds(t, fmt.Sprintf("%s with %q says no %q", c.addr, c.conf, c.says), out.String(), c.says)
	}
}
