package convert_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fawn/uploads/convert"
)

// TestMoreDocumentsOfOtherPrograms reads what siblings.py in testdata wrote.
func TestMoreDocumentsOfOtherPrograms(t *testing.T) {
	const ruled = "| Item | Size | Note |\n| --- | --- | --- |\n| chair | 40 cm |  |\n| table |  | made of oak |\n|  | 12 cm | without a name |\n"
	tests := map[string]string{ // texts that stand behind one another, with … between
		// Mail.
		"cyrillic.msg": "# Договор поставки\n…Добрый день!\nВысылаем счёт.\n", "polish.msg": "# Umowa\n…Dzień dobry, wysyłam umowę. Żółw.\n",
		"japanese.msg": "# お見積り\n…お世話になっております。見積書を送ります。\n", "chinese.msg": "# 会议通知\n…请查收附件中的会议记录。\n",
		"french.msg":      "# Devis\n…Élise a déjà reçu l’œuvre à 5 €.\n",
		"copies.msg":      "- From: Ann <ann@example.org>\n- To: Bob <bob@example.org>; Cid <cid@example.org>\n- Cc: Dora <dora@example.org>\n…To several.\n",
		"nested.msg":      "# Outer\n…Outer text.\n…---\n\n## Middle\n…Middle text.\n…---\n\n### Inner\n…Inner text.\n",
		"attachments.msg": "See both.\n\n[attachment: Größe.xlsx]\n\n[attachment: 資料.pdf]\n",
		"latin-page.msg":  "# Seite\n…# Preis\n\n5 € für Käse\n", "table-page.msg": "# Tabelle\n…| Ort  | Zahl |\n|------|------|\n| Köln | 3    |\n",
		"no-subject.msg": "Only a text.\n",
		// Formulas without a value.
		"condition.xlsx": `| 2 | =IF(A1>1,"ja","nein") | =TODAY() |`, "other-sheet.xlsx": "| ='Über sicht'!A1*2 |…| 21 |",
		"array.xlsx": "| 1 | =A1:A2*10 |", "date-formula.xlsx": "| =DATE(2026,3,9) | =A1<5 |",
		"link-formula.xlsx": `| =HYPERLINK("https://example.org","hier") | ="a ""b"" & c" |`,
		"no-values.xlsx":    "| 3 | 4 | =SUM(A1:B1) | =SUM(A1:B1*2) |", "dynamic.xlsx": "| 3 | 1 | 3 |…UNIQUE(A1:C1)",
		"pyexcelerate-formula.xlsx": "| 1 | 2 | =A1+B1 |", "odfpy-formula.ods": "| 5 | =[.A1]*2 |",
		"template.xltx": "| =SUM(B1:B3) | =NOT(TRUE) |",
		// Tables of PDFs.
		"inner-grid.pdf": ruled, "dashed.pdf": ruled, "dark-head.pdf": ruled, "separate.pdf": ruled, "dotted.pdf": ruled,
		"collapsed.pdf": ruled, "boxed.pdf": ruled, "pisa.pdf": ruled, "fpdf-all.pdf": ruled, "fpdf-inside.pdf": ruled,
		"libreoffice.pdf": ruled,
		// Old encodings.
		"windows-1252.csv": "Prénom;Ville\nÉlise;Besançon\nZoë;Orléans\n", "windows-1250.csv": "Imię;Miasto\nŁukasz;Łódź\nMałgorzata;Kraków\n",
		"windows-1251.csv": "Имя\tГород\nИван\tНовосибирск\nОльга\tКазань\n",
		"windows-1253.csv": "Όνομα,Πόλη\nΓιώργος,Θεσσαλονίκη\nΕλένη,Πάτρα\n",
		"windows-1254.csv": "Adı;Şehir\nAyşe Yılmaz;İstanbul\nÇağrı;Eskişehir\n", "shift_jis.csv": "名前,都市\n田中さん,東京都\n鈴木さん,大阪市\n",
		"gbk.csv": "姓名,城市\n张伟,北京市朝阳区\n王芳,上海市浦东新区\n", "big5.csv": "姓名,城市\n陳先生,臺北市信義區\n林小姐,高雄市左營區\n",
		"euc-jp.csv": "名前\t都市\nこれは田中さんです\t東京都\n鈴木さん\t大阪市\n", "koi8-r.csv": "Имя;Город\nИван Петров;Новосибирск\nОльга Смирнова;Казань\n",
		"utf-16.csv": "Name\tOrt\nZoë\tZürich\n私\t東京\n",
	}
	files, err := filepath.Glob("testdata/siblings/*")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d documents and %d tests, %v", len(files), len(tests), err)
	}
	for name, want := range tests {
		data, err := os.ReadFile("testdata/siblings/" + name)
		if err != nil {
			t.Error(err)
			continue
		}
		res, err := convert.Convert(name, data, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rest := strings.ReplaceAll(res.Markdown, "\r\n", "\n")
		for part := range strings.SplitSeq(want, "…") {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s, read as %q: no %q in\n%s", name, res.Encoding, part, res.Markdown)
				break
			}
			rest = after
		}
	}
}
