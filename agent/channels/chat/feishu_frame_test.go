package chat

import (
	"bytes"
	"reflect"
	"testing"
)

func TestFeishuFrames(t *testing.T) {
	f := &feishuFrame{Seq: 1, Log: 300, Service: 9, Method: 1, Headers: []feishuHeader{{"type", "event"}, {"seq", ""}},
		Encoding: "e", Type: "t", Payload: []byte("{}"), NewLog: "n"}
	b := f.encode()
	got, err := parseFeishu(b)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Errorf("%+v, %v", got, err)
	}
	// As the platform writes it: {1: 0, 2: 0, 3: 9, 4: 0, 5: {1: "type", 2: "pong"}}.
	pong := []byte("\x08\x00\x10\x00\x18\x09\x20\x00\x2a\x0c\x0a\x04type\x12\x04pong")
	if !bytes.Equal((&feishuFrame{Service: 9, Headers: []feishuHeader{{"type", "pong"}}}).encode(), pong) {
		t.Error("a frame is written otherwise")
	}
	for n := range b {
		if got, err := parseFeishu(b[:n]); err == nil && reflect.DeepEqual(got, f) {
			t.Errorf("%d bytes of %d are the whole frame", n, len(b))
		}
	}
}

func FuzzFeishuFrame(f *testing.F) {
	f.Add((&feishuFrame{Seq: 1, Headers: []feishuHeader{{"a", "b"}}, Payload: []byte("x")}).encode())
	f.Add([]byte("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parseFeishu(b)
		if err != nil {
			return
		}
		again, err := parseFeishu(a.encode())
		if err != nil || len(again.Headers) != len(a.Headers) || !bytes.Equal(again.Payload, a.Payload) ||
			again.Method != a.Method {
			t.Errorf("%+v became %+v, %v", a, again, err)
		}
	})
}

func FuzzFeishuContent(f *testing.F) {
	f.Add("text", `{"text":"@_user_1 hi"}`)
	f.Add("post", `{"title":"t","content":[[{"tag":"text","text":"a"},{"tag":"img","image_key":"k"}]]}`)
	f.Fuzz(func(t *testing.T, kind, content string) {
		text, _, err := feishuContent("om_1", kind, content)
		if err == nil {
			feishuWords(text, []feishuMention{{Key: "@_user_1", Name: "x"}}, "")
		}
	})
}
