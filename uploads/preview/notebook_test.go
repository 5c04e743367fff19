package preview_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"fawn/uploads/preview"
)

func TestANotebookIsItsCells(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and so on"))
	nb, ok := preview.ReadNotebook([]byte(`{"metadata":{"kernelspec":{"language":"python"}},"cells":[
		{"cell_type":"markdown","source":["# Hi\n","there"]},
		{"cell_type":"code","source":"1/0","execution_count":3,"outputs":[
			{"output_type":"stream","text":["a\n","b"]},
			{"output_type":"execute_result","data":{"text/html":"<b>2</b>","text/plain":"2"}},
			{"output_type":"display_data","data":{"image/png":"` + png + `","text/plain":"<Figure>"}},
			{"output_type":"display_data","data":{"image/png":"` +
		base64.StdEncoding.EncodeToString([]byte("<svg onload=x>")) + `","text/plain":"<Figure>"}},
			{"output_type":"display_data","data":{"text/markdown":"**m**","application/json":{"x":1}}},
			{"output_type":"error","ename":"E","evalue":"v","traceback":["\u001b[0;31mE\u001b[0m","\n at 1"]}]},
		{"cell_type":"raw","source":"x","execution_count":null}]}`))
	want := preview.Notebook{Language: "python", Cells: []preview.Cell{
		{Kind: "markdown", Source: "# Hi\nthere"},
		{Kind: "code", Source: "1/0", Count: 3, Outputs: []preview.Output{
			{Text: "a\nb"}, {Text: "2"}, {Picture: "data:image/png;base64," + png}, {Text: "<Figure>"},
			{Markdown: "**m**"}, {Error: "E\n at 1"}}},
		{Kind: "raw", Source: "x"},
	}}
	if !ok || !reflect.DeepEqual(nb, want) {
		t.Errorf("got  %+v\nwant %+v", nb, want)
	}
	for _, s := range []string{"", "{}", "[]", "null", `{"cells":3}`, `{"cells":[{"source":`} {
		if _, ok := preview.ReadNotebook([]byte(s)); ok {
			t.Errorf("%q is no notebook", s)
		}
	}
}

func TestLargeNotebooksAreBounded(t *testing.T) {
	size := func(nb preview.Notebook) (n int) {
		for _, c := range nb.Cells {
			n += len(c.Source)
			for _, o := range c.Outputs {
				n += len(o.Text) + len(o.Picture)
			}
		}
		return n
	}
	one := `{"cell_type":"code","source":"` + strings.Repeat("x", 1000) + `","outputs":[{"text":"` +
		strings.Repeat("y", 50_000) + `"}]}`
	nb, ok := preview.ReadNotebook([]byte(`{"cells":[` + strings.Repeat(one+",", 199) + one + `]}`))
	if !ok || size(nb) > 600<<10 || nb.More+len(nb.Cells) != 200 || !nb.Cut {
		t.Errorf("%d bytes, %d cells and %d more", size(nb), len(nb.Cells), nb.More)
	}
	var cells []string
	for i := range 400 {
		cells = append(cells, fmt.Sprintf(`{"cell_type":"code","source":"%d","outputs":[%s{}]}`, i,
			strings.Repeat(`{"text":"z"},`, 100)))
	}
	nb, ok = preview.ReadNotebook([]byte(`{"cells":[` + strings.Join(cells, ",") + `]}`))
	if !ok || len(nb.Cells) != 300 || nb.More != 100 || len(nb.Cells[0].Outputs) != 20 || !nb.Cut {
		t.Errorf("%d cells, %d more, %d outputs", len(nb.Cells), nb.More, len(nb.Cells[0].Outputs))
	}
	huge := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n"), make([]byte, 2<<20)...))
	pictures := strings.Repeat(`{"data":{"image/png":"`+huge+`","text/plain":"p"}},`, 5) + "{}"
	if nb, ok = preview.ReadNotebook([]byte(`{"cells":[{"cell_type":"code","outputs":[` + pictures + `]}]}`)); !ok ||
		size(nb) > 9<<20 || !nb.Cut {
		t.Errorf("%d bytes of pictures", size(nb))
	}
}

func FuzzNotebook(f *testing.F) {
	f.Add([]byte(`{"cells":[{"cell_type":"code","source":"1","outputs":[{"data":{"image/png":"iVBORw0KGgo="}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if nb, ok := preview.ReadNotebook(data); ok && len(nb.Cells) > 300 {
			t.Errorf("%d cells", len(nb.Cells))
		}
	})
}
