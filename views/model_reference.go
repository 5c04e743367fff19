package views

// ReferencePage is GET /docs: the routes of the API.
type ReferencePage struct {
	Shell   Shell
	Version string
	Groups  []RouteGroup
}

// RouteGroup are the routes of one subject.
type RouteGroup struct {
	Name   string
	Routes []Route
}

// Route is one route of the API. The descriptions are English, as in the document.
type Route struct {
	ID, Method, Path string
	Text, More       string
	Params           []RouteField // path and query parameters
	Body             []RouteField // members of the JSON body
	BodyType         string       // type of the body; empty for none
	Example          string       // example of the body
	Answers          []RouteAnswer
}

// RouteField is a parameter or a member of a body.
type RouteField struct {
	Name, Type, Where, Text string
	Required                bool
}

// RouteAnswer is a status a route answers with.
type RouteAnswer struct {
	Status     int
	Text, Type string
}
