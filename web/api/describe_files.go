package api

import (
	"fawn/uploads"
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeFiles() []o.Op {
	const tag = "Files"
	file := append(route.Filed(200, "The file", "*/*"), route.Filed(206, "Part of the file", "*/*")...)
	download := []o.Param{{Name: "download", Schema: o.Bool(), Text: "Send as an attachment"}}
	small := append(download, o.Param{Name: "thumb", Schema: o.Int(1),
		Text: "Send a picture as a JPEG or PNG with no side longer than about this many pixels, at most 1024"})
	return []o.Op{
		{ID: "uploadFiles", Lazy: true, Tag: tag, Text: "Upload files to a thread", Form: "files",
			Out: route.Answered("The stored files",
				o.Of[uploads.Result](o.Is("files", o.List(o.Ref("File"))))), Fail: []int{400, 413}},
		{ID: "listUploads", Lazy: true, Tag: tag, Text: "List uploaded files",
			Out: route.Answered("The files",
				o.Of[uploads.List](o.Is("files", o.List(o.Ref("File"))), o.Is("count", o.Int(0))))},
		{ID: "getUploadLimits", Lazy: true, Tag: tag, Text: "Get the upload limits",
			Out: route.Answered("The limits", o.Of[uploads.Config]())},
		{ID: "deleteUpload", Tag: tag, Text: "Delete an uploaded file", Out: route.Answered("Deleted", success()),
			Fail: []int{400}},
		{ID: "setUploadEncoding", Tag: tag, Text: "Read a text in another encoding",
			More: "Without an encoding it is told from the text again. The answer waits up to 3 seconds for the new text.",
			Body: o.Reads[encodingBody](),
			Out:  route.Answered("The file, with what came of it", o.Ref("File")), Fail: []int{400}},
		{ID: "getArtifact", Tag: tag, Text: "Get a file of a thread",
			More: "Supports range requests. Active content is sent as an attachment.", Query: small, Out: file,
			Fail: []int{400, 403, 415, 416}},
		{ID: "editArtifact", Tag: tag, Text: "Replace a text file in outputs", Need: true,
			More: "expected_sha256 is the hash of the text as it was read; a file that has changed since is a 412.",
			Body: o.Reads[artifactBody](o.Req("content", o.String()), o.Req("expected_sha256", o.String())),
			Out:  route.Answered("The new text", o.Of[savedArtifact](o.Is("size", o.Int(0)))), Fail: []int{400, 403, 409, 412, 413, 415}},
		{ID: "headArtifact", Tag: tag, Text: "Get size and type of a file", Query: small,
			Out:  []o.Answer{{Status: 200, Text: "The file exists"}, {Status: 206, Text: "The range exists"}},
			Fail: []int{400, 403, 415, 416}},
	}
}
