package restart_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"fawn/web/restart"
)

// TestWhoeverComesMeanwhileIsToldToTryAgain until the server is there, which then gets the connections.
func TestWhoeverComesMeanwhileIsToldToTryAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	legacy := restart.Sockets{Listeners: []net.Listener{l}}
	get := func() (int, string) {
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	stop := legacy.Answer(time.Millisecond)
	for range 2 {
		if status, after := get(); status != http.StatusServiceUnavailable || after != "1" {
			t.Errorf("meanwhile: %d, again after %q", status, after)
		}
	}
	stop()
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(l)
	defer server.Close()
	for range 2 {
		if status, _ := get(); status != http.StatusOK {
			t.Errorf("then: %d", status)
		}
	}
}

// TestNothingIsInheritedFromAnotherProcess: a child that gets the variables has not got the sockets.
func TestNothingIsInheritedFromAnotherProcess(t *testing.T) {
	t.Setenv("FAWN_ANEW_PID", "1")
	t.Setenv("FAWN_ANEW_SOCKETS", "3")
	if l, err := restart.Inherited(); l != nil || err != nil {
		t.Errorf("%+v, %v", l, err)
	}
}
