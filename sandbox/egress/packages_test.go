package egress_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/sandbox/egress"
)

// lay writes files below a new folder.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

func TestPackageHostsComeFromConfiguration(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string // "home/" is the user's folder
		env   []string
		want  []string
	}{
		{name: "nothing configured"},
		{name: "pip variables", env: []string{"PIP_INDEX_URL=https://user:secret@py.example/simple",
			"PIP_EXTRA_INDEX_URL=https://two.example/s http://three.example:8080/",
			"PIP_FIND_LINKS=/srv/wheels https://links.example/"},
			want: []string{"links.example", "py.example", "three.example", "two.example"}},
		{name: "pip files", files: map[string]string{
			"etc/pip.conf":              "[global]\nindex-url = https://sys.example/simple\ntrusted-host = other.example\n",
			"home/.config/pip/pip.conf": "[global]\nextra_index_url:\n    https://a.example/s\n    # not this https://no.example\n    https://b.example/s\ntimeout = 5\n    https://no2.example\n[install]\nfind-links = https://c.example\r\n",
		}, want: []string{"a.example", "b.example", "c.example", "sys.example"}},
		{name: "pip file named", files: map[string]string{"home/my.conf": "[global]\nindex-url=https://mine.example"}, env: []string{"PIP_CONFIG_FILE=$HOME/my.conf"}, want: []string{"mine.example"}},
		{name: "pip files off", files: map[string]string{"etc/pip.conf": "[global]\nindex-url=https://sys.example"}, env: []string{"PIP_CONFIG_FILE=" + os.DevNull}},
		{name: "uv", env: []string{"UV_DEFAULT_INDEX=https://uv.example/simple", "UV_INDEX=extra=https://uv2.example/simple?a=b"}, want: []string{"uv.example", "uv2.example"}},
		{name: "npm", files: map[string]string{
			"home/.npmrc": "registry=https://${NPM_HOST}/repo/\n; registry=https://no.example\n@corp:registry = https://corp.example/npm\n//tokens.example/:_authToken=secret\n",
			"etc/npmrc":   "registry = \"https://global.example\"\n",
		}, env: []string{"NPM_HOST=npm.example", "NPM_CONFIG_REGISTRY=https://env.example"},
			want: []string{"corp.example", "env.example", "global.example", "npm.example"}},
		{name: "npm user file moved", files: map[string]string{"home/.npmrc": "registry=https://no.example", "home/other": "registry=https://yes.example"}, env: []string{"npm_config_userconfig=$HOME/other"}, want: []string{"yes.example"}},
		{name: "go toolchain file", files: map[string]string{"usr/local/go/go.env": "# defaults\nGOPROXY=https://mod.example,direct\nGOSUMDB=sum.example\nGOTOOLCHAIN=auto\n"}, want: []string{"mod.example", "sum.example"}},
		{name: "go user file wins", files: map[string]string{
			"usr/local/go/go.env": "GOPROXY=https://mod.example,direct\nGOSUMDB=sum.example\n",
			"home/goenv":          "GOPROXY=https://first.example|https://second.example/x,off\nGOSUMDB=off\n",
		}, env: []string{"GOENV=$HOME/goenv"}, want: []string{"first.example", "second.example"}},
		{name: "go environment wins", files: map[string]string{"home/goenv": "GOPROXY=https://no.example\n"}, env: []string{"GOENV=$HOME/goenv", "GOPROXY=file:///srv/mod,https://yes.example", "GOSUMDB=db.example+abc+key https://mirror.example/db"}, want: []string{"mirror.example", "yes.example"}},
		{name: "go off", env: []string{"GOPROXY=off", "GOSUMDB=off"}},
		{name: "cargo", files: map[string]string{"home/.cargo/config.toml": `
[build]
index = "https://no.example"
[source.crates-io]
replace-with = "mirror"
[source.mirror]
registry = "sparse+https://crates.example/index/"
[registries]
corp = { index = "https://corp.example/git", token = "index = 'https://no.example'" }
registries.dotted.index = 'sparse+https://dotted.example/'
[source.local]
directory = "/srv/vendor"
# registry = "https://comment.example"
`}, env: []string{"CARGO_REGISTRIES_OTHER_INDEX=https://other.example/i",
			"CARGO_REGISTRIES_OTHER_TOKEN=https://no.example"},
			want: []string{"corp.example", "crates.example", "dotted.example", "other.example"}},
		{name: "apt", files: map[string]string{
			"etc/apt/sources.list":             "deb http://deb.example/debian stable main # https://no.example\n#deb https://no.example x y\ndeb cdrom:[x]/ stable main\n",
			"etc/apt/sources.list.d/a.list":    "deb [ arch=amd64 signed-by=/k ] https://apt.example/x stable main\ndeb-src [trusted=yes] http://src.example ./\n",
			"etc/apt/sources.list.d/b.sources": "Types: deb\nURIs: http://one.example/d\n https://two.example/d\nSuites: stable\n\nTypes: deb\nEnabled: no\nURIs: http://no.example/\n",
			"etc/apt/sources.list.d/c.save":    "deb http://no.example x y\n",
		}, want: []string{"apt.example", "deb.example", "one.example", "src.example", "two.example"}},
		{name: "values that are no hosts", env: []string{"PIP_INDEX_URL=https://127.1/", "npm_config_registry=ftp://f.example", "GOPROXY=https://,://,https://a%20b.example,https://%41.example", "PIP_EXTRA_INDEX_URL=https://[::1]:80/"}, want: []string{"::1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := lay(t, tt.files)
			home := filepath.Join(root, "home")
			environ := []string{"XDG_CONFIG_HOME=" + filepath.Join(home, ".config")}
			for _, pair := range tt.env {
				environ = append(environ, os.Expand(pair, func(name string) string {
					if name == "HOME" {
						return home
					}
					return "${" + name + "}"
				}))
			}
			got := egress.Packages{Root: root, Home: home, Environ: environ}.Hosts(t.Context())
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPackageHostsPassOverWhatTheyCannotRead(t *testing.T) {
	root := lay(t, map[string]string{"etc/apt/sources.list": "deb http://deb.example x y\n"})
	p := egress.Packages{Root: root, Home: filepath.Join(root, "missing"),
		Environ: []string{"NOTHING", "PIP_CONFIG_FILE=relative.conf"}}
	if runtime.GOOS == "linux" {
		p.Environ = append(p.Environ, "npm_config_userconfig=/proc/self/mem", "GOENV=/dev/zero")
	}
	if got := p.Hosts(t.Context()); !slices.Equal(got, []string{"deb.example"}) {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := p.Hosts(ctx); len(got) != 0 {
		t.Errorf("after the end of the context: %q", got)
	}
}
