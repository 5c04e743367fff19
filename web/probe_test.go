package web_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// probe is what a server of the tests is told to try.
type probe struct {
	Read  string `json:"read,omitempty"`
	Write string `json:"write,omitempty"`
	Dial  string `json:"dial,omitempty"`  // an address, without the proxy
	Knock string `json:"knock,omitempty"` // a host, through the proxy
}

// addProbe gives a server a tool that tries to get out of where it runs.
func addProbe(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "try", Description: "tries something"},
		func(_ context.Context, _ *sdk.CallToolRequest, p probe) (*sdk.CallToolResult, any, error) {
			text, err := p.try()
			if err != nil {
				text = "no: " + err.Error()
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		})
}

func (p probe) try() (string, error) {
	switch {
	case p.Read != "":
		b, err := os.ReadFile(p.Read)
		return string(b), err
	case p.Write != "":
		return "written", os.WriteFile(p.Write, []byte("by the server"), 0o600)
	case p.Dial != "":
		c, err := net.DialTimeout("tcp", p.Dial, time.Minute)
		if err == nil {
			err = c.Close()
		}
		return "reached", err
	}
	u, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("no proxy, %v", err)
	}
	c, err := net.DialTimeout("tcp", u.Host, time.Minute)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "CONNECT %[1]s:443 HTTP/1.1\r\nHost: %[1]s:443\r\n\r\n", p.Knock); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}
