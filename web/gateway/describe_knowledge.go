package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeKnowledge returns the routes of collections of documents.
func describeKnowledge() []o.Op {
	const tag = "Knowledge"
	one := route.Answered("The collection", o.Ref("Knowledge"))
	members := route.Answered("The owner, then the others", o.Of[collectionMembers](o.Is("members",
		o.List(o.Of[collectionMember](o.Is("kind", o.Enum("user", "group")), o.Is("role", o.Enum("owner", "editor", "viewer")))))))
	return []o.Op{
		{ID: "listKnowledge", Tag: tag, Text: "List the collections that you own or share",
			Out: route.Answered("The collections by name", o.Of[collectionList](o.Is("knowledge", o.List(o.Ref("Knowledge")))))},
		{ID: "createKnowledge", Tag: tag, Text: "Create a collection", Need: true,
			Body: o.Reads[collectionBody](o.Req("name", o.String())),
			Out:  []o.Answer{{Status: 201, Text: "The collection", Schema: o.Ref("Knowledge")}}},
		{ID: "getKnowledge", Tag: tag, Text: "Get a collection", Out: one},
		{ID: "changeKnowledge", Tag: tag, Text: "Change a collection; absent fields stay",
			Body: o.Reads[collectionChange](), Out: one},
		{ID: "deleteKnowledge", Tag: tag, Text: "Delete a collection and its documents", Out: route.Emptied("Deleted")},
		{ID: "updateKnowledge", Tag: tag, Text: "Have all sources of a collection read again", Out: route.Emptied("Soon")},
		{ID: "searchKnowledge", Tag: tag, Text: "Search a collection",
			Query: []o.Param{{Name: "query", Schema: o.String()}, {Name: "limit", Schema: o.Int(1)}},
			Out: route.Answered("The passages that fit best", o.Of[passageList](o.Is("passages", o.List(o.Of[passageJSON](
				o.Is("document_id", o.Int(1)), o.Is("page", o.Int(0)), o.Is("start_line", o.Int(1)), o.Is("end_line", o.Int(1))))))), Fail: []int{422}},
		{ID: "listKnowledgeSources", Tag: tag, Text: "List the sources of a collection",
			Out: route.Answered("The sources", o.Of[knowledgeSourceList](o.Is("sources", o.List(o.Ref("KnowledgeSource")))))},
		{ID: "addKnowledgeSource", Tag: tag, Text: "Add a source to a collection", Need: true,
			More: "Folders are those of the server that knowledge.folders allows, and only its operators add them.",
			Body: o.Reads[sourceBody](o.Req("kind", o.Enum("folder", "web", "git")), o.Req("address", o.String()), o.Is("every_seconds", o.Int(0))),
			Out:  []o.Answer{{Status: 201, Text: "The source", Schema: o.Ref("KnowledgeSource")}}},
		{ID: "removeKnowledgeSource", Tag: tag, Text: "Remove a source and its documents", Out: route.Emptied("Removed")},
		{ID: "updateKnowledgeSource", Tag: tag, Text: "Have a source read again", Out: route.Emptied("Soon")},
		{ID: "listKnowledgeDocuments", Tag: tag, Text: "List the documents of a collection, those that failed first",
			Query: []o.Param{{Name: "limit", Schema: o.Int(1)}, {Name: "offset", Schema: o.Int(0)}},
			Out: route.Answered("The documents", o.Of[documentList](o.Is("documents", o.List(o.Ref("KnowledgeDocument"))),
				o.Is("count", o.Int(0)))), Fail: []int{422}},
		{ID: "uploadKnowledgeDocuments", Tag: tag, Text: "Add documents to a collection, or replace those of the same names", Form: "files",
			Out: route.Answered("What was stored", o.Of[storedDocuments](o.Is("files", o.List(o.Of[storedDocument](o.Is("size", o.Int(0))))))), Fail: []int{400, 413, 507}},
		{ID: "getKnowledgeDocument", Tag: tag, Text: "Get a document with its text",
			Out: route.Answered("The document", o.Ref("KnowledgeDocument"))},
		{ID: "deleteKnowledgeDocument", Tag: tag, Text: "Delete an uploaded document", Out: route.Emptied("Deleted"), Fail: []int{409}},
		{ID: "listKnowledgeMembers", Tag: tag, Text: "List who can use a collection", Out: members},
		{ID: "shareKnowledge", Tag: tag, Text: "Share a collection with a user or a group, or change their role", Need: true,
			More: "Only its owner can. Viewers search it, editors change its sources and documents, too.",
			Body: o.Reads[sharing](o.Req("role", o.Enum("viewer", "editor"))), Out: members,
			Fail: []int{429}},
		{ID: "unshareKnowledge", Tag: tag, Text: "Stop sharing a collection, or leave it", Out: route.Emptied("Done")},
	}
}

// knowledgeSchemas returns the schemas of describeKnowledge.
func knowledgeSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"Knowledge": o.Of[collectionJSON](o.Is("document_count", o.Int(0)), o.Is("role", o.Enum("owner", "editor", "viewer"))),
		"KnowledgeSource": o.Of[knowledgeSourceJSON](o.Is("kind", o.Enum("upload", "folder", "web", "git")),
			o.Is("every_seconds", o.Int(0)), o.Is("state", o.Enum("pending", "ready", "failed")), o.Is("done", o.Int(0)),
			o.Is("total", o.Int(0)), o.Is("skipped", o.Int(0))),
		"KnowledgeDocument": o.Of[documentJSON](o.Is("document_id", o.Int(1)), o.Is("bytes", o.Int(0)),
			o.Is("state", o.Enum("pending", "converted", "partial", "failed"))),
	}
}
