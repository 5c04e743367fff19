package tools

import (
	"context"
	_ "embed" // the texts of the tools
	"encoding/json"
	"strings"

	"fawn/agent"
	"fawn/sandbox/files"
)

//go:embed present_files.md
var presentFilesText string

type presentFilesArgs struct {
	Filepaths []string `json:"filepaths" jsonschema:"absolute paths of files below /mnt/user-data/outputs, in the order to show them"`
}

// UnmarshalJSON also reads file_paths, the name of older clients and prompts,
// and one path that is not in a list.
func (a *presentFilesArgs) UnmarshalJSON(b []byte) error {
	var given struct {
		Filepaths json.RawMessage `json:"filepaths"`
		Older     json.RawMessage `json:"file_paths"`
	}
	if err := json.Unmarshal(b, &given); err != nil {
		return err
	}
	raw := given.Filepaths
	if len(raw) == 0 {
		raw = given.Older
	}
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		a.Filepaths = []string{one}
		return nil
	}
	if len(raw) == 0 {
		return nil
	}
	list := struct {
		Filepaths []string `json:"filepaths"`
	}{}
	err := json.Unmarshal([]byte(`{"filepaths":`+string(raw)+`}`), &list)
	a.Filepaths = list.Filepaths
	return err
}

func (s *set) presentFiles(_ context.Context, t *agent.Turn, a presentFilesArgs) (agent.Result, error) {
	if len(a.Filepaths) == 0 {
		return failed("argument \"filepaths\" names no file")
	}
	return s.with(t, func(f *files.Files) (agent.Result, error) {
		var shown []string
		for _, p := range a.Filepaths {
			clean, err := files.Clean(p)
			if err != nil || !strings.HasPrefix(clean, files.Outputs+"/") {
				return failed("Only files in /mnt/user-data/outputs can be presented: %s", show(p))
			}
			info, err := f.Stat(clean)
			if err == nil && !info.Mode().IsRegular() {
				err = files.ErrNotRegular
			}
			if err != nil {
				return explain(err, p, wantFile)
			}
			shown = append(shown, clean)
		}
		r := agent.TextResult("Successfully presented files")
		r.Patch.Artifacts = shown
		return r, nil
	})
}
