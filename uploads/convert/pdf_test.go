package convert_test

import (
	"fmt"
	"testing"
)

func TestBoldLinesOfAPDFAreHeadingsAndLinksStayLinks(t *testing.T) {
	draw := "BT /F2 11 Tf 72 700 Td (Costs) Tj ET\nBT /F1 11 Tf 72 680 Td (All of this is in ) Tj ET\n" +
		"BT /F1 11 Tf 148 680 Td (the yearly) Tj ET\nBT /F1 11 Tf 72 667 Td (report, which is long and which nobody reads.) Tj ET\n" +
		"BT /F2 11 Tf 72 640 Td (Note:) Tj ET\nBT /F1 11 Tf 106 640 Td (this is no heading) Tj ET"
	link := func(box string) string {
		return "<</Type/Annot/Subtype/Link/Rect[" + box + "]/A<</S/URI/URI(https://example.org/a)>>>>"
	}
	got := md(t, "a.pdf", pdfOf([]string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 4 0 R/F2 5 0 R>>>>/Contents 6 0 R/Annots[" +
			link("146 676 210 692") + link("70 664 104 676") + "]>>",
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(draw)+1, draw),
	}))
	same(t, got, "<!-- page 1 -->\n\n# Costs\n\nAll of this is in [the yearly report,](https://example.org/a) which is long and which nobody reads.\n\n"+
		"Note: this is no heading\n")
}
