package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"fawn/agent"
	"fawn/agent/access"
	"fawn/agent/lead"
	"fawn/web/httpx"
	"fawn/web/route"
)

// maxSuggestions is the most one request may ask for.
const maxSuggestions = 5

// suggestBody is the body of suggest.
type suggestBody struct {
	Messages []struct {
		Role    string          `json:"role"`
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	N     *int   `json:"n"`
	Model string `json:"model_name"`
}

type suggestionList struct {
	Suggestions []string `json:"suggestions"`
}

// suggest responds with follow-up questions; an empty list if they are disabled or fail, since they are optional.
func (g *Gateway) suggest(c echo.Context, thread string) error {
	var b suggestBody
	wish := lead.SuggestWish{Owner: g.Owner(c), Thread: thread}
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	conf := g.Config().File.Suggestions
	wish.N, wish.Model = min(3, conf.MaxSuggestions), b.Model
	if b.N != nil {
		if *b.N < 1 || *b.N > maxSuggestions {
			return httpx.Invalid("body", "n", "want 1 to %d, got %d", maxSuggestions, *b.N)
		}
		wish.N = min(*b.N, conf.MaxSuggestions)
	}
	for _, one := range b.Messages {
		var content agent.Content
		if route.Given(one.Content) != nil && json.Unmarshal(one.Content, &content) != nil {
			return httpx.Invalid("body", "messages", "the content of a message must be a text or a list of blocks")
		}
		if one.Role == "" {
			one.Role = one.Type
		}
		wish.Messages = append(wish.Messages, lead.Said{Role: one.Role, Content: content.String()})
	}
	list := []string{}
	if conf.Enabled && g.Aside != nil && len(wish.Messages) > 0 {
		ctx, done := g.UntilDrained(c.Request().Context())
		defer done()
		found, err := g.Aside.Suggest(ctx, wish)
		if errors.Is(err, access.ErrDenied) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			g.Log.Warn("couldn't make suggestions", "thread", wish.Thread, "err", err)
		}
		list = append(list, found...)
	}
	return httpx.JSON(c, http.StatusOK, suggestionList{list})
}

type suggestionSettings struct {
	Enabled bool `json:"enabled"`
	Most    int  `json:"max_suggestions"`
}

func (g *Gateway) suggestionsConfig(c echo.Context) error {
	conf := g.Config().File.Suggestions
	return httpx.JSON(c, http.StatusOK, suggestionSettings{conf.Enabled, conf.MaxSuggestions})
}

// polishBody is the body of polish.
type polishBody struct {
	Text   string `json:"text"`
	Locale string `json:"locale"`
	Thread string `json:"thread_id"`
}

type polishedJSON struct {
	Changed bool   `json:"changed"`
	Text    string `json:"rewritten_text"`
}

// polish responds with a better worded draft.
func (g *Gateway) polish(c echo.Context) error {
	var b polishBody
	if err := g.BindStrict(c, &b); err != nil {
		return err
	}
	conf := g.Config().File.InputPolish
	switch n := utf8.RuneCountInString(b.Text); {
	case !conf.Enabled || g.Aside == nil:
		return httpx.Errorf(http.StatusNotFound,
			"Input polish is disabled: set input_polish.enabled in the configuration")
	case strings.TrimSpace(b.Text) == "":
		return httpx.Errorf(http.StatusBadRequest, "There is no text to polish")
	case n > conf.MaxChars:
		return httpx.Errorf(http.StatusBadRequest,
			"The text has %d characters; at most %d can be polished (input_polish.max_chars)", n, conf.MaxChars)
	}
	if b.Thread != "" {
		if _, err := g.ThreadByID(c, b.Thread); err != nil {
			return err
		}
	}
	ctx, done := g.UntilDrained(c.Request().Context())
	defer done()
	text, err := g.Aside.Polish(ctx, lead.PolishWish{Owner: g.Owner(c), Thread: b.Thread, Text: b.Text,
		Locale: b.Locale})
	if err != nil {
		g.Log.Warn("couldn't polish a draft", "thread", b.Thread, "err", err)
		return httpx.Errorf(http.StatusServiceUnavailable, "Couldn't polish the draft: %v", err)
	}
	return httpx.JSON(c, http.StatusOK, polishedJSON{text != b.Text, text})
}
