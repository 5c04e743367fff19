package views

import (
	"net/url"
	"strconv"
	"strings"
)

// Addresses of pages and actions. Components and handlers use the same ones.

// NewChatURL is the address of the welcome page.
const NewChatURL = "/workspace/chats/new"

// TemporaryURL is the address of the page of a new temporary chat, and GoneURL that of a new chat after one
// was deleted.
const (
	TemporaryURL = NewChatURL + "?temporary=1"
	GoneURL      = NewChatURL + "?gone=1"
)

// TagURL returns the address of the list of chats with a tag.
func TagURL(tag string) string { return ChatsURL + "?show=" + url.QueryEscape(ShowTag+tag) }

// SampleURL is the address that starts a chat about the sample file.
const SampleURL = "/ui/sample"

// ChatsURL is the address of the list of all chats.
const ChatsURL = "/workspace/chats"

// CreateURL is the address that receives the first message of a new thread.
const CreateURL = "/ui/threads"

// DeleteURL is the address that deletes threads by their ids, RestoreURL undoes a deletion by its
// token.
const (
	DeleteURL  = CreateURL + "/delete"
	RestoreURL = CreateURL + "/restore"
)

// PrefsURL is the address that saves theme, language and model.
const PrefsURL = "/ui/prefs"

// HostsURL is the address that closes a host that was open to every chat.
const HostsURL = "/ui/hosts"

// ThreadURL returns the address of the page of a thread.
func ThreadURL(id string) string { return ChatsURL + "/" + url.PathEscape(id) }

// PanelPageURL returns the address of the page of a thread with a file open next to the conversation.
func PanelPageURL(id, path string) string {
	return ThreadURL(id) + "?file=" + url.QueryEscape(path)
}

// ActionURL returns the address of an action of a thread: messages, stop, rename, delete, uploads,
// stream.
func ActionURL(id, action string) string {
	return CreateURL + "/" + url.PathEscape(id) + "/" + action
}

// UploadURL returns the address of an upload; "/delete" after it removes the file.
func UploadURL(id, name string) string { return ActionURL(id, "uploads/"+url.PathEscape(name)) }

// StepURL returns the address of the details of a tool call.
func StepURL(id, step string) string { return ActionURL(id, "steps/"+url.PathEscape(step)) }

// AppURL returns the address of the page of the app of one tool call, for a frame.
func AppURL(id, step string) string { return ActionURL(id, "apps/"+url.PathEscape(step)) }

// TrailURL returns the address of the steps of a tool call's helper.
func TrailURL(id, step string) string { return StepURL(id, step) + "/trail" }

// SourceURL returns the address of the Markdown of one answer as text/plain.
func SourceURL(id, message string) string {
	return ActionURL(id, "messages/"+url.PathEscape(message)+"/raw")
}

// TranscribeURL is the address that transcribes a recording: the part "audio" of a form.
const TranscribeURL = "/ui/transcribe"

// SpeechURL returns the address of an answer as speech in MP3, or with ?text=1 the text to be read.
func SpeechURL(id, message string) string {
	return ActionURL(id, "messages/"+url.PathEscape(message)+"/speech")
}

// QueueURL returns the address of an action on a message that waits: edit, remove or send.
func QueueURL(id, run, action string) string {
	return ActionURL(id, "queue/"+url.PathEscape(run)+"/"+action)
}

// UsageURL returns the address of the page of a thread's usage.
func UsageURL(id string) string { return ActionURL(id, "usage") }

// AtURL returns the address of the page of a thread that opens at a message.
func AtURL(id, message string) string {
	return ThreadURL(id) + "?at=" + url.QueryEscape(message) + "#m-" + message
}

// TurnsURL returns the address of the fragment with turns from a gap: the last ones, or the first
// ones.
func TurnsURL(id string, g Gap, down bool) string {
	q := url.Values{"before": {g.Before}}
	if g.After != "" {
		q.Set("after", g.After)
	}
	if down {
		q.Set("down", "1")
	}
	return ActionURL(id, "turns") + "?" + q.Encode()
}

// EditURL returns the address of the page of a thread with one of the reader's messages in a form.
func EditURL(id, message string) string {
	return ThreadURL(id) + "?edit=" + url.QueryEscape(message)
}

// MessageURL returns the address of the fragment of one of the reader's messages; "/edit" after it is
// the form.
func MessageURL(id, message string) string {
	return ActionURL(id, "messages/"+url.PathEscape(message))
}

// FileURL returns the address of the page of a file.
func FileURL(id, path string) string { return ThreadURL(id) + "/files/" + escapePath(path) }

// SaveURL returns the address that saves the new text of a file.
func SaveURL(id, path string) string { return ActionURL(id, "save/"+escapePath(path)) }

// FilesURL returns the address of the page that lists the files of a thread.
func FilesURL(id string) string { return ThreadURL(id) + "/files" }

// ChangesURL returns the address of the page of a run's file changes.
func ChangesURL(id, run string) string { return ThreadURL(id) + "/changes/" + url.PathEscape(run) }

// PanelChangesURL returns the same as a fragment for the panel.
func PanelChangesURL(id, run string) string { return ActionURL(id, "changes/"+url.PathEscape(run)) }

// PanelURL returns the address of the fragment of a file for the panel; an empty path is the list.
func PanelURL(id, path string) string {
	if path == "" {
		return ActionURL(id, "panel")
	}
	return ActionURL(id, "panel/"+escapePath(path))
}

// ZipAll requests an archive of all files of a thread instead of only the results.
const ZipAll = "all"

// ZipURL returns the address of an archive of a thread's files.
func ZipURL(id string, all bool) string {
	if all {
		return ActionURL(id, "files.zip") + "?from=" + ZipAll
	}
	return ActionURL(id, "files.zip")
}

// ViewURL returns the address that shows an artifact inline with a policy that isolates it.
func ViewURL(id, path string) string { return ActionURL(id, "view/"+escapePath(path)) }

// ArtifactURL returns the address of the file itself.
func ArtifactURL(id, path string) string {
	return "/api/threads/" + url.PathEscape(id) + "/artifacts/" + escapePath(path)
}

// SharedURL returns the address of the shared view of a thread for its token.
func SharedURL(token string) string { return "/share/" + url.PathEscape(token) }

// SharedAtURL returns the same at one of its turns.
func SharedAtURL(token, turn string) string {
	return SharedURL(token) + "?at=" + url.QueryEscape(turn) + "#t-" + turn
}

// SharedFileURL returns the address of the page of a file of such a thread.
func SharedFileURL(token, path string) string { return SharedURL(token) + "/files/" + escapePath(path) }

// SharedViewURL returns the address of the file itself, with an isolating policy.
func SharedViewURL(token, path string) string { return SharedURL(token) + "/view/" + escapePath(path) }

// SettingsURL returns the address of a section of the settings.
func SettingsURL(section string) string { return "/workspace/settings/" + section }

// ModelURL returns the address of the form to change a model.
func ModelURL(name string) string {
	return SettingsURL("models") + "?change=" + url.QueryEscape(name)
}

// WebServiceURL returns the address of an action on a service that searches the web: save, move, try.
func WebServiceURL(name, action string) string {
	return "/ui/web/by-name/" + url.PathEscape(name) + "/" + action
}

// MediaURL returns the address that saves a model for images, speech or transcription.
func MediaURL(kind string) string { return "/ui/media/by-name/" + url.PathEscape(kind) }

// WebFallbackURL is the address that sets whether the next service is tried after a failure.
const WebFallbackURL = "/ui/web/fallback"

// ToolSwitchURL returns the address that switches a tool on or off.
func ToolSwitchURL(name string) string {
	return "/ui/tools/by-name/" + url.PathEscape(name) + "/switch"
}

// ModelsURL is the address that adds models; the subpaths probe, change, remove and default act on
// one.
const ModelsURL = "/ui/models"

// Addresses of pages other than chats.
const (
	AgentsURL = "/workspace/agents"
	// NewAgentURL is the address of the page to create an agent.
	NewAgentURL = AgentsURL + "/new"
	SkillsURL   = "/workspace/skills"
	TasksURL    = "/workspace/scheduled-tasks"
)

// APIURL is the address of the page about the API.
const APIURL = "/docs"

// TasksActionURL is the address that creates scheduled tasks.
const TasksActionURL = "/ui/tasks"

// EditTaskURL returns the address of the form for a task.
func EditTaskURL(id string) string { return TasksURL + "?edit=" + url.QueryEscape(id) }

// TaskActionURL returns the address of an action of a scheduled task: run, pause, resume, delete.
func TaskActionURL(id, action string) string {
	return TasksActionURL + "/" + url.PathEscape(id) + "/" + action
}

// ProjectsURL is the address of the page of all projects.
const ProjectsURL = "/workspace/projects"

// ProjectActionsURL is the address that creates a project.
const ProjectActionsURL = "/ui/projects"

// ProjectURL returns the address of the page of a project.
func ProjectURL(id string) string { return ProjectsURL + "/" + url.PathEscape(id) }

// CollectionURL returns the address of the page of a collection of documents.
func CollectionURL(id string) string { return KnowledgeURL + "/" + url.PathEscape(id) }

// CollectionActionURL returns the address of an action on a collection: settings, upload, source, update, unsource, remove, share,
// unshare, delete.
func CollectionActionURL(id, action string) string {
	return KnowledgeActionsURL + "/" + url.PathEscape(id) + "/" + action
}

// CollectionDocumentURL returns the address of the page of a document of a collection.
func CollectionDocumentURL(id string, document int64) string {
	return CollectionURL(id) + "/documents/" + strconv.FormatInt(document, 10)
}

// CollectionTextURL returns the address of the text of a document of a collection.
func CollectionTextURL(id string, document int64) string {
	return KnowledgeActionsURL + "/" + url.PathEscape(id) + "/documents/" + strconv.FormatInt(document, 10) + "/text"
}

// ProjectChatURL returns the address of a new chat in a project.
func ProjectChatURL(id string) string { return NewChatURL + "?project=" + url.QueryEscape(id) }

// ProjectActionURL returns the address of an action on a project: instructions, settings, upload, remove, share, unshare, forget,
// delete.
func ProjectActionURL(id, action string) string {
	return ProjectActionsURL + "/" + url.PathEscape(id) + "/" + action
}

func escapePath(p string) string {
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// Actions on custom agents: making one by form, by talking and from a file.
const (
	AgentActionsURL = "/ui/agents"
	AgentTalkURL    = AgentActionsURL + "/talk"
	AgentImportURL  = AgentActionsURL + "/import"
)

// AgentURL returns the address of the page of a custom agent.
func AgentURL(name string) string { return AgentsURL + "/" + url.PathEscape(name) }

// AgentChatURL returns the address of a new chat with a custom agent.
func AgentChatURL(name string) string { return NewChatURL + "?agent=" + url.QueryEscape(name) }

// AgentActionURL returns the address of an action on a custom agent: files, export, delete, or "" to
// save it.
func AgentActionURL(name, action string) string {
	at := AgentActionsURL + "/by-name/" + url.PathEscape(name)
	if action == "" {
		return at
	}
	return at + "/" + action
}

// SkillInstallURL is the address that installs a skill from an archive.
const SkillInstallURL = "/ui/skills/install"

// SkillFetchURL is the address that installs a skill from another address.
const SkillFetchURL = "/ui/skills/fetch"

// SkillWaitingURL returns the address that installs the skill of an inspected archive, by its hash.
func SkillWaitingURL(sum string) string { return "/ui/skills/waiting/" + sum }

// SkillFromURL returns the address that installs the skill in a file of a chat.
func SkillFromURL(id, file string) string { return ActionURL(id, "skill/"+escapePath(file)) }

// SkillURL returns the address of the page of a skill.
func SkillURL(name string) string { return SkillsURL + "/" + url.PathEscape(name) }

// SkillActionURL returns the address of an action on a skill: switch, text, rollback, delete.
func SkillActionURL(name, action string) string {
	return "/ui/skills/by-name/" + url.PathEscape(name) + "/" + action
}

// ServersURL is the address that adds MCP servers.
const ServersURL = "/ui/mcp/add"

// ServerActionURL returns the address of an action on an MCP server: switch, reconnect, approve, remove,
// login, logout.
func ServerActionURL(name, action string) string {
	return "/ui/mcp/by-name/" + url.PathEscape(name) + "/" + action
}
