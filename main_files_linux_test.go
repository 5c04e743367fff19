package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fawn/store/objects"
	"fawn/store/objects/objectstest"
	"fawn/store/pgtest"
)

// inBucket is the configuration of files in a store of objects.
func inBucket(s3 *objectstest.Server) string {
	return fmt.Sprintf("files: {url: %q, endpoint: %q, path_style: true, access_key: $BUCKET_KEY, "+
		"secret_key: $BUCKET_SECRET}", s3.URL(), s3.Endpoint())
}

var bucketKeys = []string{"BUCKET_KEY=" + objectstest.Key, "BUCKET_SECRET=" + objectstest.Secret}

// calling is a message that has the model call a tool and then do what follows.
func calling(tool string, args map[string]string, then string) string {
	body, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`SCRIPT{"turns": [{"tool_calls": [{"name": %q, "args": %s}]}, %s]}`, tool, body, then)
}

// artifact is what a server shows of a file of t1.
func artifact(t *testing.T, s *server, path string) string {
	t.Helper()
	res, err := s.client.Get(s.url + "/api/threads/t1/artifacts/mnt/user-data/" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return res.Status
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAKilledServerLosesNoFileThatWasShown: the result of a tool was read, and the server had no time for more. What
// is in its folders is not needed.
func TestAKilledServerLosesNoFileThatWasShown(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	args := []string{"--data", data, "--config",
		configured(t, inBucket(objectstest.Start(t)), "sandbox: {provider: off}")}
	s := serve(t, bucketKeys, args...)
	follow(t, s, "t1", calling("write_file", map[string]string{"description": "d",
		"path": "/mnt/user-data/outputs/a.md", "content": "shown"}, `{"hang": true}`), `"type":"tool"`, 1)
	s.end(t, syscall.SIGKILL)
	if err := os.RemoveAll(filepath.Join(data, "threads")); err != nil {
		t.Fatal(err)
	}
	s = serve(t, bucketKeys, args...)
	if got := artifact(t, s, "outputs/a.md"); got != "shown" {
		t.Errorf("the file is %q", got)
	}
}

// TestSandboxesOfServersTakeTurns: programs, links and modes that a command leaves are there for the next one,
// wherever it runs, and what a killed server had not stored is dropped.
func TestSandboxesOfServersTakeTurns(t *testing.T) {
	needs(t, "auto")
	conf := configured(t, inBucket(objectstest.Start(t)), "cluster: {enabled: true}",
		fmt.Sprintf("database: {url: %q}", pgtest.URL(t)))
	a := serve(t, bucketKeys, "--data", openDir(t), "--config", conf)
	b := serve(t, bucketKeys, "--data", openDir(t), "--config", conf)
	bash := func(s *server, command string, wants ...string) {
		t.Helper()
		body := input(calling("bash", map[string]string{"description": "d", "command": command}, `{"text": "done"}`))
		// A run with a secret begins at the server that was given it, not where the thread's sandbox is.
		call[any](t, s, "POST", "/threads/t1/runs/wait",
			strings.TrimSuffix(body, "}")+`, "context": {"secrets": {"KEY": "only-in-memory"}}}`)
		all := messages(t, s, "t1")
		last := all[strings.LastIndex(all, "human:"):]
		for _, want := range wants {
			if !strings.Contains(last, want) {
				t.Errorf("%s: %q is missing in %s", command, want, all)
			}
		}
	}
	const moved = "the conversation goes on at another server"
	bash(a, `cd /mnt/user-data/workspace && mkdir -p bin && printf '#!/bin/sh\necho made-by-$1\n' >bin/x && chmod 755 bin/x &&
		ln -s bin/x l && mkdir ro && echo 1 >ro/n && chmod 555 ro && ./l one`, "made-by-one")
	bash(b, `cd /mnt/user-data/workspace && ./l two && chmod 755 ro && echo 2 >>ro/n && chmod 555 ro && rm bin/x &&
		echo 'echo new-$1' >bin/x && chmod 700 bin/x`, "made-by-two", moved)
	bash(a, `cd /mnt/user-data/workspace && sh ./l three && echo sum-$(tr -d '\n' <ro/n) && ls -ld ro`, "new-three", moved)
	bash(a, `cd /mnt/user-data/workspace && echo sum-$(tr -d '\n' <ro/n)-$(stat -c %a ro)`, "sum-12-555")

	follow(t, a, "t1", calling("bash", map[string]string{"description": "d",
		"command": "cd /mnt/user-data/outputs && echo half >half && sleep 60"}, `{"text": "done"}`), "metadata", 1)
	until(t, func() bool { return artifact(t, a, "outputs/half") == "half\n" })
	a.end(t, syscall.SIGKILL)
	until(t, func() bool { return status(t, b, "t1") == "idle" })
	bash(b, `cd /mnt/user-data/outputs && echo seen-$(ls | tr -d '\n')-`, "seen--")
}

// TestFsckLooksForFilesInTheObjectStore: what is missing, and what is not what was stored.
func TestFsckLooksForFilesInTheObjectStore(t *testing.T) {
	t.Parallel()
	s3 := objectstest.Start(t)
	args := []string{"--data", t.TempDir(), "--config", configured(t, inBucket(s3), "sandbox: {provider: off}")}
	s := serve(t, bucketKeys, args...)
	for _, name := range []string{"a.md", "b.md"} {
		call[any](t, s, "POST", "/threads/t1/runs/wait", input(calling("write_file", map[string]string{"description": "d",
			"path": "/mnt/user-data/outputs/" + name, "content": name}, `{"text": "done"}`)))
	}
	s.end(t, os.Interrupt)
	fsck := func(code int, wants []string, flags ...string) {
		t.Helper()
		r := finished(t, program(t, bucketKeys, append(append([]string{"fsck"}, flags...), args...)...))
		if r.code != code || r.stderr != "" {
			t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
		}
		for _, want := range append(wants, "Every reference is whole.") {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("no %q in\n%s", want, r.stdout)
			}
		}
	}
	names := s3.Names()
	if len(names) != 2 {
		t.Fatalf("objects: %v", names)
	}
	fsck(exitOK, []string{"The 2 objects that have files of chats are all there."})
	fsck(exitOK, []string{"are all there, with the bytes that were stored."}, "--deep")
	b, err := objects.Open(s3.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	other := "x.md"
	if err := b.Put(t.Context(), names[0], strings.NewReader(other), int64(len(other)),
		sha256.Sum256([]byte(other))); err != nil {
		t.Fatal(err)
	}
	fsck(exitOK, nil)
	changed := "Object " + names[0] + ", which has files of thread t1, has other bytes than were stored."
	fsck(exitError, []string{changed}, "--deep")
	if err := b.Remove(t.Context(), names[1]); err != nil {
		t.Fatal(err)
	}
	missing := "Object " + names[1] + ", which has files of thread t1, is not in the object store."
	fsck(exitError, []string{missing})
	fsck(exitError, []string{missing, changed}, "--deep")
	r := finished(t, program(t, bucketKeys, append([]string{"backup"}, append(args, filepath.Join(t.TempDir(),
		"b.tar.gz"))...)...))
	if r.code != exitOK || !strings.Contains(r.stdout, "copy all objects below "+s3.URL()) {
		t.Errorf("backup: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	s3.Stop()
	r = finished(t, program(t, bucketKeys, append([]string{"fsck"}, args...)...))
	if r.code != exitError || !strings.Contains(r.stderr, "the object store of files.url can't be used") {
		t.Errorf("without the store: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}
