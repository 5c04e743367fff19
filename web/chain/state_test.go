package chain_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"fawn/agent/agenttest/must"
)

// TestTheReducersOfTheSeeds passes the examples of the seeds through the API.
func TestTheReducersOfTheSeeds(t *testing.T) {
	for _, c := range []struct{ name, field, existing, update, want string }{
		{"artifacts lose doubles", "artifacts", `["file1.txt","file2.txt"]`, `["file2.txt","file3.txt"]`, `["file1.txt","file2.txt","file3.txt"]`},
		{"artifacts keep without an update", "artifacts", `["file1.txt"]`, `null`, `["file1.txt"]`},
		{"an empty map clears images", "viewed_images", `{"img1.png":{"base64":"data","mime_type":"image/png"}}`, `{}`, `null`},
		{"new bytes win", "viewed_images", `{"img1.png":{"base64":"old","mime_type":"image/png"}}`, `{"img1.png":{"base64":"new","mime_type":"image/png"}}`, `{"img1.png":{"base64":"new","mime_type":"image/png","size":0,"actual_path":""}}`},
		{"a new image wins", "viewed_images", `{"img1.png":{"mime_type":"image/png","size":1}}`, `{"img1.png":{"mime_type":"image/png","size":2}}`, `{"img1.png":{"mime_type":"image/png","size":2,"actual_path":""}}`},
		{"images join", "viewed_images", `{"a.png":{"mime_type":"image/png","size":1}}`, `{"b.png":{"mime_type":"image/png","size":2}}`, `{"a.png":{"mime_type":"image/png","size":1,"actual_path":""},"b.png":{"mime_type":"image/png","size":2,"actual_path":""}}`},
		{"a title is replaced", "title", `"one"`, `"two"`, `"two"`},
		{"a title is kept", "title", `"one"`, `null`, `"one"`},
		{"todos are replaced", "todos", `[{"id":"1","title":"a","status":"pending"}]`, `[{"id":"2","title":"b","status":"completed"}]`, `[{"id":"2","content":"b","title":"b","status":"completed"}]`},
		{"uploaded files are replaced", "uploaded_files", `[{"filename":"a","size":1,"path":"/a","extension":""}]`, `[]`, `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			w.send(t, "POST", "/threads", `{"thread_id":"t1"}`)
			for _, v := range []string{c.existing, c.update} {
				w.send(t, "POST", "/threads/t1/state", `{"values":{"`+c.field+`":`+v+`}}`)
			}
			var got, want any
			if raw := w.valuesAt(t, "/threads/t1/state?include=images")[c.field]; len(raw) > 0 {
				must.Do(t, json.Unmarshal(raw, &got))
			}
			must.Do(t, json.Unmarshal([]byte(c.want), &want))
			if m, ok := got.(map[string]any); ok && len(m) == 0 {
				got = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", c.field, got, want)
			}
		})
	}
}
