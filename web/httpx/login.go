package httpx

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// MCPCallback is where authorization servers of MCP servers send browsers back to.
const MCPCallback = "/ui/mcp/callback"

// loginAge is how many seconds a browser may be away to log in.
const loginAge = 600

// loginCookie returns the name of the cookie of one login.
func loginCookie(state string) string {
	sum := sha256.Sum256([]byte(state))
	return "fawn_mcp_login_" + hex.EncodeToString(sum[:4])
}

// BindLogin makes a login one of the browser that began it: nobody else can end it, not even with
// the address that it was sent to.
func BindLogin(c echo.Context, state string) {
	c.SetCookie(&http.Cookie{Name: loginCookie(state), Value: state, Path: MCPCallback, MaxAge: loginAge,
		HttpOnly: true, Secure: strings.HasPrefix(Origin(c.Request()), "https:"), SameSite: http.SameSiteLaxMode})
}

// BoundLogin reports whether the browser is the one that began a login, and takes its mark away.
func BoundLogin(c echo.Context, state string) bool {
	mark, err := c.Cookie(loginCookie(state))
	if err != nil || state == "" {
		return false
	}
	c.SetCookie(&http.Cookie{Name: mark.Name, Path: MCPCallback, MaxAge: -1, HttpOnly: true})
	return subtle.ConstantTimeCompare([]byte(mark.Value), []byte(state)) == 1
}
