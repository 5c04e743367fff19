package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"

	"fawn/agent/config"
	"fawn/agent/lead"
)

// TestTheExamplesOfSeveralServersAreTaken: the configuration in docs/cluster is taken without a word, and what starts
// the servers is YAML that gives each a data folder of its own and all the same folder of files.
func TestTheExamplesOfSeveralServersAreTaken(t *testing.T) {
	t.Parallel()
	const dir = "docs/cluster/"
	read := func(name string) []byte {
		data, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	taken := func(text []byte) {
		t.Helper()
		data := t.TempDir()
		conf := filepath.Join(data, "config.yaml")
		if err := os.WriteFile(conf, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := config.Load(config.Options{Config: conf, DataDir: data, Classes: lead.Classes(),
			LookupEnv: func(name string) (string, bool) { return "postgres://fawn@db/fawn", name == "FAWN_DATABASE" }})
		switch {
		case err != nil:
			t.Error(err)
		case len(s.Warnings) > 0 || !s.File.Cluster.Enabled || s.File.Files.Dir == "" || s.File.Database.URL == "":
			t.Errorf("%v %+v", s.Warnings, s.File.Cluster)
		}
	}
	taken(read("config.yaml"))

	var compose struct {
		Services map[string]struct {
			Command []string
			Volumes []string
		}
	}
	if err := yaml.Unmarshal(read("compose.yaml"), &compose); err != nil {
		t.Fatal(err)
	}
	folders := map[string]int{}
	for _, name := range []string{"fawn-1", "fawn-2", "fawn-3"} {
		for _, v := range compose.Services[name].Volumes {
			folders[v]++
		}
		if len(compose.Services[name].Command) == 0 {
			t.Errorf("%s has no command", name)
		}
	}
	if folders["data-1:/data"] != 1 || folders["data-2:/data"] != 1 || folders["files:/files"] != 3 {
		t.Errorf("folders: %v", folders)
	}

	kinds := map[string]int{}
	for all := yaml.NewDecoder(bytes.NewReader(read("kubernetes.yaml"))); ; {
		var one struct {
			Kind string
			Data map[string]string
		}
		if err := all.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kinds[one.Kind]++
		if one.Kind == "ConfigMap" {
			taken([]byte(one.Data["config.yaml"]))
		}
	}
	for _, kind := range []string{"ConfigMap", "PersistentVolumeClaim", "StatefulSet", "Service",
		"PodDisruptionBudget"} {
		if kinds[kind] != 1 {
			t.Errorf("%d of %s", kinds[kind], kind)
		}
	}
}
