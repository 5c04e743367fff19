package ns_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/sandbox/ns"
)

// TestSecretsAreKnownByWhatTheyAre whatever their files are called, and what programs need stays.
func TestSecretsAreKnownByWhatTheyAre(t *testing.T) {
	random := "q7Zt2WvB9xKd4LmR8sYc1HnJ6pFg3TaE5uQwXbVe"
	body := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", 3)
	for name, content := range map[string]string{
		"a/deploy":            "-----BEGIN OPENSSH PRIVATE KEY-----\n" + body + "\n",
		"a/account.json":      `{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\n` + body + `"}`,
		"a/keys.pgp":          "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + body + "\n",
		"a/old.bak":           "export GITHUB=ghp_" + random[:36] + "\n",
		"a/run.sh":            "#!/bin/sh\ncurl -H 'x: sk-ant-" + random + "' https://x\n",
		"a/notes":             "the key is AKIA" + "Q2WERT5YUIOP3ASD" + "\n",
		"a/app.conf":          "[db]\nuser = app\npassword = hunter22x\n",
		"a/app.properties":    "db.url=postgres://app:s3cr1tly@db.internal/app\n",
		"a/values.yaml":       "auth:\n  apiKey: " + random[:20] + "\n",
		"a/settings.json":     `{"client_secret": "` + random[:24] + `"}`,
		"a/config.xml":        "<config><password>k33pMeOut</password></config>",
		"a/tool":              "API_TOKEN=" + random[:18] + "\n",
		"a/kube":              "users:\n- user:\n    client-key-data: " + body + "\n",
		"a/jwt.txt":           "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiIsImlhdCI6MX0." + random + "\n",
		"a/server.jks":        "x",
		"a/second":            "sk-" + strings.Repeat("x", 40) + "\nsk-proj-" + random + "\n",
		"a/third.txt":         "https://a.example/ https://b.example/?q=@ amqp://u:s3cr1tly9@mq.internal\n",
		"a/behind.txt":        "aaa://u:password@h bbb://u:s3cr1tly9@q.internal\n",
		"a/far.txt":           strings.Repeat("a", 400) + " redis://:s3cr1tly9@cache.internal",
		"a/names.conf":        "db.user-password = hunter22x\nDB_PASS_=hunter22x\n",
		"ok/inside.txt":       "xghp_" + random[:36] + " " + strings.Repeat("a", 30) + "://u:s3cr1tly9@host\n",
		"ok/pages.json":       `{"input_token": "Next", "output_token": "Shards[-1].ShardId1"}`,
		"ok/schema.yaml":      "secret:\n  type: v1beta1.Secret\ntoken:\n  a1b2c3d4e5: x\n",
		"ok/package.json":     `{"scripts": {"token": "node make9token.js"}}`,
		"ok/en.json":          `{"password": "Password", "token": "Token 2 of 3", "secret": "Geheimnis"}`,
		"ok/app.conf":         "password = $DB_PASSWORD\ntoken = <your token>\nsecret=changeme1\n# password: 8 letters\n",
		"ok/aws.json":         `{"AccessKeyId": "AKIAIOSFODNN7EXAMPLE"}`,
		"ok/login.py":         "password = 'hunter22x'\nkey = '-----BEGIN PRIVATE KEY-----\n" + body + "'\n",
		"ok/program":          "#!/bin/sh\npassword=$1 token=a1b2c3d4e5\n",
		"ok/binary":           "\x7fELF\x00-----BEGIN PRIVATE KEY-----\n" + body,
		"ok/ca.pem":           "-----BEGIN CERTIFICATE-----\n" + body + "\n",
		"ok/readme.md":        "postgres://app:s3cr1tly@db.internal/app",
		"ok/tests/server.txt": "-----BEGIN PRIVATE KEY-----\n" + body,
		"ok/strings.txt":      "-----BEGIN PRIVATE KEY----- begins a key\n",
		"ok/urls.txt":         "http://user:pass@example.com https://host:8080/a@b\n",
		"ok/.env.sample":      "PASSWORD=hunter22x\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			mustWrite(t, filepath.Join(top, name), content)
			got, full, err := ns.FindHidden(t.Context(), []string{top}, -1)
			var want []string
			if !strings.HasPrefix(name, "ok/") {
				want = []string{filepath.Join(top, name)}
			}
			if err != nil || full || !slices.Equal(got, want) {
				t.Errorf("%q hides %q %v %v", content, got, full, err)
			}
		})
	}
}

// TestInstalledProgramsStayUsable looks through what is installed on this machine, where next to nothing is a secret.
func TestInstalledProgramsStayUsable(t *testing.T) {
	for _, top := range []string{"/usr/local", "/opt"} {
		began := time.Now()
		got, full, err := ns.FindHidden(t.Context(), []string{top}, -1)
		t.Logf("%s: %d hidden in %v: %q", top, len(got), time.Since(began), got)
		if err != nil || full {
			t.Errorf("%s: %v %v", top, full, err)
		}
		for _, name := range got {
			for _, program := range []string{"/lib/python", "/usr/local/go/", "/node_modules/", "/cuda", "/chromium"} {
				if strings.Contains(name, program) && filepath.Ext(name) != ".pem" { // which programs have for their tests
					t.Errorf("%s is hidden", name)
				}
			}
		}
	}
}
