package gateway

import (
	"fawn/agent/skills"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeSkills returns the routes of skills.
func describeSkills() []o.Op {
	const tag = "Skills"
	one, text := route.Answered("The skill", o.Ref("Skill")), route.Answered("The skill with its text", o.Ref("Skill"))
	list := o.Of[skillList](o.Is("skills", o.List(o.Ref("Skill"))))
	change := o.Of[skills.Change](o.Is("action", o.Enum("create", "edit", "patch", "write_file", "remove_file", "delete", "rollback")),
		o.Is("scanner", o.Of[skills.Scan](o.Is("decision", o.Enum("allow", "warn")))))
	return []o.Op{
		{ID: "listSkills", Tag: tag, Text: "List skills",
			More: "One whose files can't be used has a finding that is an error.",
			Out:  route.Answered("The skills by name", list)},
		{ID: "switchSkills", Tag: tag, Text: "Switch several skills",
			More: "An unknown name is a 404, and nothing changes.", Need: true,
			Body: o.Reads[skillSwitches](o.Req("skills", o.Map(o.Object(o.Req("enabled", o.Bool()))))), Out: route.Answered("All skills", list),
			Fail: []int{404}},
		{ID: "getSkill", Tag: tag, Text: "Get a skill", Out: one},
		{ID: "switchSkill", Tag: tag, Text: "Switch a skill on or off",
			More: "It leaves prompts and sandboxes at once.", Need: true, Body: o.Reads[enabledBody](o.Req("enabled", o.Bool())), Out: one},
		{ID: "installSkill", Tag: tag, Text: "Install a skill from an archive among a thread's files",
			More: "Nothing of an archive that is refused stays. The rules are in docs/skills.md.", Need: true,
			Body: o.Reads[installBody](o.Req("thread_id", o.String()), o.Req("path", o.String())),
			Out: route.Answered("Installed", o.Of[installedSkill](
				o.Is("findings", o.Nullable(o.List(o.Ref("SkillFinding")))))), Fail: []int{400, 403, 404, 409}},
		{ID: "reloadSkills", Tag: tag, Text: "Look for changes of skills", More: "Fawn also does so by itself.",
			Out: route.Answered("Done", o.Of[reloadedSkills]())},
		{ID: "listCustomSkills", Tag: tag, Text: "List custom skills", Out: route.Answered("The skills by name", list)},
		{ID: "getCustomSkill", Tag: tag, Text: "Get a custom skill with its text", Out: text},
		{ID: "putCustomSkill", Tag: tag, Text: "Replace the text of a custom skill", Need: true,
			Body: o.Reads[skillContent](o.Req("content", o.String())), Out: text, Fail: []int{400}},
		{ID: "deleteCustomSkill", Tag: tag, Text: "Delete a custom skill and its files",
			Out: route.Answered("Deleted", o.Of[route.Done]()), Fail: []int{400}},
		{ID: "listSkillChanges", Tag: tag, Text: "List the changes of a custom skill, the oldest first",
			Out: route.Answered("The changes", o.Of[skillHistory](o.Is("history", o.List(change)))), Fail: []int{400}},
		{ID: "rollbackSkill", Tag: tag, Text: "Undo a change of a custom skill",
			More: "history_index is its place in the history; negative ones count from the newest, which is -1.",
			Body: o.Reads[rollbackBody](o.Is("history_index", o.Schema{"type": "integer", "default": -1})), Out: text,
			Fail: []int{400}},
	}
}

// skillSchemas returns the schemas of describeSkills.
func skillSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"Skill":        o.Of[skillJSON](o.Is("category", o.Enum("public", "custom")), o.Is("findings", o.List(o.Ref("SkillFinding")))),
		"SkillFinding": o.Of[findingJSON](o.Is("severity", o.Enum("error", "warning", "note"))),
	}
}
