package views

// ThreadTools is GET /ui/threads/{id}/tools: the tools of MCP servers that a chat has.
type ThreadTools struct {
	Shell    Shell
	Menu     bool // only the menu of the message box
	ThreadID string
	New      bool   // the chat has no message yet
	Text     string // text of the message box, for returning without a script
	Manage   bool   // the reader may add and change servers
	Servers  []ToolServer
}

// ToolServer is an MCP server in a chat.
type ToolServer struct {
	Name  string
	State string // connecting, ready, login, failed or unavailable
	Off   bool   // disabled with all its tools
	Tools []ToolSwitch
}

// ToolSwitch is one tool of a server.
type ToolSwitch struct {
	Name string // tool name on the server
	Text string
	Off  bool // disabled individually
}
