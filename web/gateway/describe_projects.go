package gateway

import (
	"fawn/agent/projects"
	"fawn/uploads"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeProjects returns the routes of projects.
func describeProjects() []o.Op {
	const tag = "Projects"
	names := o.List(o.String())
	parts := []o.Prop{o.Is("color", o.Enum(append([]string{""}, projects.Colors()...)...)), o.Is("agent_name", o.String()),
		o.Is("model_name", o.String()), o.Is("skills", names), o.Is("mcp_servers", names), o.Is("knowledge", names),
		o.Is("memory", o.Enum(projects.Memories()...))}
	one := route.Answered("The project", o.Ref("Project"))
	mine := route.Answered("The project", o.Ref("OneProject"))
	files := o.List(o.Ref("ProjectFile"))
	members := route.Answered("The owner, then the others", o.Of[projectMembers](o.Is("members",
		o.List(o.Of[memberJSON](o.Is("kind", o.Enum("user", "group")), o.Is("role", o.Enum("owner", "editor", "viewer")))))))
	facts := route.Answered("The facts", o.Map(nil))
	return []o.Op{
		{ID: "listProjects", Tag: tag, Text: "List the projects that you own or share",
			Out: route.Answered("The projects by name", o.Of[projectList](o.Is("projects", o.List(o.Ref("ListedProject")))))},
		{ID: "createProject", Example: `{"name": "Deer", "instructions": "Answer with sources."}`, Tag: tag, Text: "Create a project", Need: true,
			Body: o.Reads[projectBody](append(parts, o.Req("name", o.String()))...),
			Out:  []o.Answer{{Status: 201, Text: "The project", Schema: o.Ref("Project")}}},
		{ID: "getProject", Tag: tag, Text: "Get a project", Out: mine},
		{ID: "changeProject", Tag: tag, Text: "Change a project; absent fields stay, null clears",
			Body: o.Reads[projectBody](parts...), Out: one},
		{ID: "deleteProject", Tag: tag, Text: "Delete a project and its files",
			More:  "Its chats stay unless chats is delete, which deletes those of the project's owner.",
			Query: []o.Param{{Name: "chats", Schema: o.Enum("keep", "delete")}},
			Out:   route.Emptied("Deleted")},
		{ID: "listProjectFiles", Tag: tag, Text: "List the files of a project",
			Out: route.Answered("The files", o.Of[uploads.List](o.Is("files", files), o.Is("count", o.Int(0))))},
		{ID: "uploadProjectFiles", Tag: tag, Text: "Add files to a project, or replace those of the same names", Form: "files",
			Out: route.Answered("What was stored", o.Of[uploads.Result](o.Is("files", files))), Fail: []int{400, 413, 507}},
		{ID: "getProjectFile", Tag: tag, Text: "Get a file of a project",
			Query: []o.Param{{Name: "download", Schema: o.Bool(), Text: "Send it as an attachment"}},
			Out:   []o.Answer{{Status: 200, Text: "The file", Type: "application/octet-stream", Schema: o.String()}}, Fail: []int{400, 416}},
		{ID: "deleteProjectFile", Tag: tag, Text: "Delete a file of a project",
			Out: route.Answered("Done", o.Of[route.DoneMessage]()), Fail: []int{400}},
		{ID: "addProjectThread", Tag: tag, Text: "Move a thread into a project", Out: route.Emptied("Moved")},
		{ID: "removeProjectThread", Tag: tag, Text: "Move a thread out of a project", Out: route.Emptied("Moved")},
		{ID: "getProjectMemory", Tag: tag, Text: "Get what your chats in a project have taught", Out: facts},
		{ID: "putProjectMemory", Tag: tag, Text: "Let your chats in a shared project read your own memory, or not", Need: true,
			Body: o.Reads[personalMemory](o.Req("personal_memory", o.Bool())), Out: mine},
		{ID: "clearProjectMemory", Tag: tag, Text: "Forget what your chats in a project have taught",
			More: "Also what waits to be learned from them. Your own memory and those of other members stay.", Out: facts},
		{ID: "listProjectMembers", Tag: tag, Text: "List who can use a project", Out: members},
		{ID: "shareProject", Tag: tag, Text: "Share a project with a user or a group, or change their role", Need: true,
			More: "Only its owner can. Viewers have chats in it, editors change its files and settings, too.",
			Body: o.Reads[memberBody](o.Req("role", o.Enum("viewer", "editor"))), Out: members, Fail: []int{429}},
		{ID: "unshareProject", Tag: tag, Text: "Stop sharing a project with a user or a group, or leave it",
			More: "The chats of those who have no role then leave the project.", Out: route.Emptied("Done")},
	}
}

// projectSchemas returns the schemas of describeProjects.
func projectSchemas() map[string]o.Schema {
	names := o.Nullable(o.List(o.String()))
	project := []o.Prop{o.Is("skills", names), o.Is("mcp_servers", names), o.Is("knowledge", o.List(o.String())),
		o.Is("memory", o.Enum(projects.Memories()...)), o.Is("role", o.Enum("owner", "editor", "viewer"))}
	return map[string]o.Schema{
		"Project":       o.Of[projectJSON](project...),
		"OneProject":    o.Of[oneProject](project...),
		"ListedProject": o.Of[listedProject](project...),
		"ProjectFile":   o.Of[uploads.File](),
	}
}
