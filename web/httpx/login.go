package httpx

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// MCPCallback is the redirect address for MCP servers' authorization servers.
const MCPCallback = "/ui/mcp/callback"

// loginAge limits the duration of a browser's login, in seconds.
const loginAge = 600

// loginCookie returns the name of the cookie of one login.
func loginCookie(state string) string {
	sum := sha256.Sum256([]byte(state))
	return "fawn_mcp_login_" + hex.EncodeToString(sum[:4])
}

// BindLogin binds a login to the browser that began it: no other browser can complete it, even with the redirect's
// address.
func BindLogin(c echo.Context, state string) {
	c.SetCookie(&http.Cookie{Name: loginCookie(state), Value: state, Path: MCPCallback, MaxAge: loginAge,
		HttpOnly: true, Secure: strings.HasPrefix(Origin(c.Request()), "https:"), SameSite: http.SameSiteLaxMode})
}

// BoundLogin reports whether the browser began a login, and removes its mark.
func BoundLogin(c echo.Context, state string) bool {
	mark, err := c.Cookie(loginCookie(state))
	if err != nil || state == "" {
		return false
	}
	c.SetCookie(&http.Cookie{Name: mark.Name, Path: MCPCallback, MaxAge: -1, HttpOnly: true})
	return subtle.ConstantTimeCompare([]byte(mark.Value), []byte(state)) == 1
}
