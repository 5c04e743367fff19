package account

import (
	"strings"

	"fawn/web/ui/page"
)

// device describes a User-Agent: Firefox on Linux. Other programs are shown by their own name.
func device(agent string) string {
	browser := firstOf(agent, [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"HeadlessChrome/", "Chrome"},
		{"Chromium/", "Chromium"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}})
	system := firstOf(agent, [][2]string{{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"},
		{"Windows", "Windows"}, {"Macintosh", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}})
	switch {
	case browser != "" && system != "":
		return browser + " · " + system
	case browser != "":
		return browser
	}
	name, _, _ := strings.Cut(strings.TrimSpace(agent), " ")
	if name = page.CutRunes(name, 60); name == "" {
		return "?"
	}
	return name
}

func firstOf(s string, list [][2]string) string {
	for _, one := range list {
		if strings.Contains(s, one[0]) {
			return one[1]
		}
	}
	return ""
}
