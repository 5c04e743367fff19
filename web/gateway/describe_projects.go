package gateway

import (
	"fawn/agent/projects"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeProjects are the routes of projects.
func describeProjects() []o.Op {
	const tag = "Projects"
	parts := []o.Prop{o.Opt("icon", o.String()), o.Opt("color", o.Enum(append([]string{""}, projects.Colors()...)...)),
		o.Opt("instructions", o.String()), o.Opt("agent_name", o.Nullable(o.String())),
		o.Opt("model_name", o.Nullable(o.String())), o.Opt("skills", o.Nullable(o.List(o.String()))),
		o.Opt("mcp_servers", o.Nullable(o.List(o.String()))), o.Opt("knowledge", o.Nullable(o.List(o.String()))), o.Opt("memory", o.Enum(projects.Memories()...)),
		o.Opt("writable", o.Bool())}
	one := route.Answered("The project", o.Ref("Project"))
	files := o.List(o.Ref("ProjectFile"))
	members := route.Answered("The owner, then the others", o.Object(o.Req("members",
		o.List(o.Object(o.Req("user_id", o.String()), o.Req("email", o.String()), o.Req("name", o.String()),
			o.Req("role", o.Enum("owner", "editor", "viewer")))))))
	facts := route.Answered("The facts", o.Map(nil))
	return []o.Op{
		{ID: "listProjects", Tag: tag, Text: "List the projects that you own or share",
			Out: route.Answered("The projects by name", o.Object(o.Req("projects", o.List(o.Ref("ListedProject")))))},
		{ID: "createProject", Tag: tag, Text: "Create a project", Need: true,
			Body: o.Body(append([]o.Prop{o.Req("name", o.String())}, parts...)...),
			Out:  []o.Answer{{Status: 201, Text: "The project", Schema: o.Ref("Project")}}},
		{ID: "getProject", Tag: tag, Text: "Get a project", Out: one},
		{ID: "changeProject", Tag: tag, Text: "Change a project; absent fields stay, null clears",
			Body: o.Body(append([]o.Prop{o.Opt("name", o.String())}, parts...)...), Out: one},
		{ID: "deleteProject", Tag: tag, Text: "Delete a project and its files",
			More:  "Its chats stay unless chats is delete, which deletes those of the project's owner.",
			Query: []o.Param{{Name: "chats", Schema: o.Enum("keep", "delete")}},
			Out:   route.Emptied("Deleted")},
		{ID: "listProjectFiles", Tag: tag, Text: "List the files of a project",
			Out: route.Answered("The files", o.Object(o.Req("files", files), o.Req("count", o.Int(0))))},
		{ID: "uploadProjectFiles", Tag: tag, Text: "Add files to a project, or replace those of the same names", Form: "files",
			Out: route.Answered("What was stored", o.Object(o.Req("success", o.Bool()), o.Req("files", files),
				o.Req("message", o.String()), o.Req("skipped_files", o.List(o.String())))), Fail: []int{400, 413, 507}},
		{ID: "getProjectFile", Tag: tag, Text: "Get a file of a project",
			Query: []o.Param{{Name: "download", Schema: o.Bool(), Text: "Send it as an attachment"}},
			Out:   []o.Answer{{Status: 200, Text: "The file", Type: "application/octet-stream", Schema: o.String()}}, Fail: []int{400, 416}},
		{ID: "deleteProjectFile", Tag: tag, Text: "Delete a file of a project",
			Out: route.Answered("Done", o.Object(o.Req("success", o.Bool()), o.Req("message", o.String()))), Fail: []int{400}},
		{ID: "putProjectThread", Tag: tag, Text: "Move a thread into a project", Out: route.Emptied("Moved")},
		{ID: "takeProjectThread", Tag: tag, Text: "Move a thread out of a project", Out: route.Emptied("Moved")},
		{ID: "getProjectMemory", Tag: tag, Text: "Get what your chats in a project have taught", Out: facts},
		{ID: "clearProjectMemory", Tag: tag, Text: "Forget what your chats in a project have taught", Out: facts},
		{ID: "listProjectMembers", Tag: tag, Text: "List who can use a project", Out: members},
		{ID: "shareProject", Tag: tag, Text: "Share a project, or change somebody's role", Need: true,
			More: "Only its owner can. Viewers have chats in it, editors change its files and settings, too.",
			Body: o.Body(o.Req("email", o.String()), o.Req("role", o.Enum("viewer", "editor"))), Out: members},
		{ID: "unshareProject", Tag: tag, Text: "Stop sharing a project with somebody, or leave it",
			More: "Their chats leave the project.", Out: route.Emptied("Done")},
	}
}

// projectSchemas are the shapes of describeProjects.
func projectSchemas() map[string]o.Schema {
	project := []o.Prop{o.Req("project_id", o.String()), o.Req("name", o.String()), o.Req("icon", o.String()),
		o.Req("color", o.String()), o.Req("instructions", o.String()), o.Req("agent_name", o.Nullable(o.String())),
		o.Req("model_name", o.Nullable(o.String())), o.Req("skills", o.Nullable(o.List(o.String()))),
		o.Req("mcp_servers", o.Nullable(o.List(o.String()))), o.Req("knowledge", o.List(o.String())), o.Req("memory", o.Enum(projects.Memories()...)),
		o.Req("writable", o.Bool()), o.Req("role", o.Enum("owner", "editor", "viewer")),
		o.Req("created_at", o.Time()), o.Req("updated_at", o.Time())}
	return map[string]o.Schema{
		"Project":       o.Object(project...),
		"ListedProject": o.Object(append(project[:len(project):len(project)], o.Req("thread_count", o.Int(0)))...),
		"ProjectFile": o.Object(o.Req("filename", o.String()), o.Req("size", o.Int(0)), o.Req("path", o.String()),
			o.Req("virtual_path", o.String()), o.Req("artifact_url", o.String())),
	}
}
