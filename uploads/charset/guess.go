package charset

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// A guess decodes the text in each likely encoding and asks how probable the result is in each
// language that is written in it. The languages are described by their letters beyond ASCII,
// the most frequent first; all numbers are natural logarithms of probabilities.

// tongue is a language with its letters beyond ASCII.
type tongue struct {
	letters string // lower case, by frequency
	rare    string // rare, as in names and loanwords
	weight  float64
}

func latin() map[string]tongue {
	return map[string]tongue{
		"de": {"üäöß", "éèàêçñ", 0}, "fr": {"éèàêçôîûùâ", "œëïÿæñöü", 0}, "es": {"óíáñéúü", "çºªà", 0},
		"pt": {"ãçáéõíóêâúàôü", "ºªñ", 0}, "it": {"àèùòìé", "î°ç", -0.5}, "sv": {"äåö", "éüáàèæø", -0.3},
		"da": {"øåæ", "éöäüóôò", -0.3}, "fi": {"äö", "åšžé", -0.6}, "is": {"áðíóþæöúéý", "", -2.5},
		"nl": {"ëéïèöü", "êçàáóâ", -1.5}, "ca": {"éàèóòíçúïü", "·ñ", -1.2}, "ga": {"áéíóú", "", -2.5},
		"pl": {"łąęóżśćńź", "éüöäšč", 0}, "cs": {"íáéěřčšžýůúóťďň", "öüäô", 0},
		"sk": {"áíčéýžšúľťôňóďäŕĺ", "öüřě", -0.7}, "hu": {"áéöóőüíúű", "ä", 0},
		"ro": {"ăîşţâ", "éöüá", -0.5}, "rn": {"ăîșțâ", "éöüá", -0.5}, "hr": {"čšžćđ", "éöü", -0.5}, "sq": {"ëç", "", -3},
		"tr": {"ıüşçöğİ", "âîûé", 0.3}, "lt": {"ėšųžįąūčę", "éöü", 0}, "lv": {"āīšēūņļģķčž", "éöü", 0},
		"et": {"äõüöšž", "é", -1}, "eo": {"ĉĝĥĵŝŭ", "", -3}, "mt": {"ħżġċ", "à", -3},
		"vi": {"đươăâêô", "áàạảãéèíìóòúùý", -1}, "cy": {"ŵŷâêîôû", "", -3},
	}
}

// script is a non-Latin alphabet with its letters by frequency.
type script struct {
	letters string
	rare    string
	weight  float64
}

func scripts() map[string]script {
	return map[string]script{
		"ru": {"оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", "", 0},
		"uk": {"оанивіртесклдупмязьбгчйхжцїюєшщфґ", "", -0.3},
		"bg": {"аиоентрсвлдкпмзуябъгчшщцжйхфюь", "", -0.5},
		"sr": {"аоиенрсјтуквдмплзбгчшцжњћђхљфџ", "", -1.5},
		"el": {"αοιετσνηυρπκμλςωθδγάίόέχφήύβώξζψϊϋΐΰ", "", 0},
		"he": {"יוהלאתרבמםשנעדחקפטסזכגץןךףצ", "ְֱֲֳִֵֶַָֹּׁׂ׳״", 0},
		"ar": {"اليمنروتبةعدسفهكقحجأشطصخإذىضثزءغئؤآظ", "ٌٍَُِّْ،؛؟ـپچژگکی", 0},
		"fa": {"ایرندهموتبسشکگزلقفخعپآجحچصطضثظغذئءژ", "أؤة\u200c،؛؟ي", -0.4},
		"th": {"านร่กอเงมีั้ทวลดสะตยปิคพหืบจใแชไขุำโผซูึถฟ์ภธศ็ณญฐษฮฉฝๆฎฏฆฬฒฌฑฤ๊๋", "ๅฯ฿", 1.5},
	}
}

// reading is an encoding with its languages. Its weight is its frequency among encodings that can represent the same
// text.
type reading struct {
	name   string
	langs  string
	weight float64
}

func readings() []reading {
	return []reading{
		{"windows-1252", "de fr es pt it sv da fi is nl ca ga sq", 0},
		{"windows-1250", "pl cs sk hu ro hr sq", -0.3},
		{"windows-1254", "tr", -0.3}, {"windows-1257", "lt lv et", -0.3}, {"windows-1258", "vi", -2},
		{"windows-1251", "ru uk bg sr", 0}, {"KOI8-R", "ru", -1}, {"KOI8-U", "uk", -2}, {"IBM866", "ru", -1.5},
		{"ISO-8859-5", "ru bg sr uk", -2.5},
		{"windows-1253", "el", 0}, {"ISO-8859-7", "el", -0.7}, {"windows-1255", "he", 0}, {"ISO-8859-8", "he", -2},
		{"windows-1256", "ar fa", 0}, {"ISO-8859-6", "ar", -2}, {"windows-874", "th", 0},
		{"ISO-8859-2", "pl cs sk hu ro hr", -1}, {"ISO-8859-15", "de fr es pt it sv da fi", -2.5},
		{"ISO-8859-16", "rn", -3}, {"ISO-8859-9", "tr", -2}, {"ISO-8859-13", "lt lv", -2.5},
		{"ISO-8859-4", "lt lv et", -4}, {"ISO-8859-3", "eo mt", -5}, {"ISO-8859-14", "cy", -6},
		{"IBM850", "de fr es pt it sv da fi", -3}, {"IBM852", "pl cs sk hu hr", -3},
		{"macintosh", "de fr es pt it sv da", -3.5},
		{"GB18030", "zh", 0}, {"Big5", "zt", 0}, {"Shift_JIS", "ja", 0}, {"EUC-JP", "ja", -0.5}, {"EUC-KR", "ko", 0},
	}
}

// Penalties for unusual features of a text.
const (
	impossible = -14.0 // a byte the encoding doesn't have, a control character
	foreign    = -9.0  // a letter of another language
	sign       = -6.0  // a typographic sign such as a dash or a quotation mark
	oddSign    = -9.5  // any other sign
	oddCase    = -4.0  // a capital after a small letter
	mixed      = -7.0  // letters of two alphabets in one word
	pair       = -1.6  // two accented letters in a row in a Latin word
)

// guess names the likeliest encoding of a text that is not UTF-8.
func guess(data []byte) string {
	best, most := "windows-1252", math.Inf(-1)
	tongues, alphabets := latin(), scripts()
	for _, r := range readings() {
		text, ok := decodeSample(find(r.name), data)
		if !ok {
			continue
		}
		for lang := range strings.FieldsSeq(r.langs) {
			var s float64
			if t, is := tongues[lang]; is {
				s = latinScore(text, t)
			} else if a, is := alphabets[lang]; is {
				s = scriptScore(text, a)
			} else {
				s = wideScore(text, lang)
			}
			if s += r.weight; s > most {
				best, most = r.name, s
			}
		}
	}
	return best
}

// decodeSample decodes a sample, whose last character may be truncated. ok is false if it has too many invalid places
// for that encoding.
func decodeSample(e encoding.Encoding, data []byte) (string, bool) {
	b, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", false
	}
	text := string(b)
	if len(data) >= sample {
		text = strings.TrimSuffix(text, "\uFFFD")
	}
	return text, strings.Count(text, "\uFFFD")*20 <= len(data)+20
}

// ranks returns the logarithm of each letter's share in text with Zipf-distributed letters.
func ranks(letters, rare string) map[rune]float64 {
	p := map[rune]float64{}
	n := utf8.RuneCountInString(letters)
	sum, i := 0.0, 0
	for range letters {
		sum += 1 / (float64(i) + 2)
		i++
	}
	i = 0
	for _, c := range letters {
		p[c] = math.Log(1 / (float64(i) + 2) / sum)
		i++
	}
	for _, c := range rare {
		p[c] = math.Log(0.01 / float64(n+1))
	}
	return p
}

// latinScore scores how well a text's accents fit a language.
func latinScore(text string, t tongue) float64 {
	p := ranks(t.letters, t.rare)
	score := t.weight
	var last rune = ' '
	for i, c := range text {
		if c < utf8.RuneSelf {
			if c >= 'A' && c <= 'Z' && last >= utf8.RuneSelf && unicode.IsLower(last) {
				score += oddCase
			}
			last = c
			continue
		}
		low := unicode.ToLower(c)
		if c == 'İ' {
			low = c
		}
		price, ok := p[low]
		switch {
		case ok:
			score += price - 2.2 // the share of accented letters among all
			if unicode.IsUpper(c) {
				next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(c):])
				switch {
				case unicode.IsLower(last):
					score += oddCase
				case unicode.IsUpper(last) || unicode.IsUpper(next):
					score -= 0.7
				case unicode.IsLetter(last):
					score += oddCase
				default:
					score -= 1
				}
			}
			if last >= utf8.RuneSelf && unicode.IsLetter(last) {
				score += pair
			}
		default:
			score += outside(c, last)
		}
		last = c
	}
	return score
}

// outside scores a character that isn't a letter of the language.
func outside(c, last rune) float64 {
	switch {
	case c == utf8.RuneError || unicode.IsControl(c) || unicode.Is(unicode.Co, c):
		return impossible
	case strings.ContainsRune("’–—“”„…", c):
		return sign + 0.8
	case strings.ContainsRune("€«»‘‚°•§©®™\u00a0º£²", c):
		if c != '€' && unicode.IsLetter(last) && c != '»' && c != '®' && c != '™' && c != '\u00a0' && c != '²' {
			return oddSign
		}
		return sign
	case unicode.IsLetter(c) || unicode.Is(unicode.Mn, c):
		return foreign
	}
	return oddSign
}

// scriptScore scores how well a text fits a language with its own alphabet.
func scriptScore(text string, a script) float64 {
	p := ranks(a.letters, a.rare)
	score := a.weight
	var last rune = ' '
	for _, c := range text {
		if c < utf8.RuneSelf {
			if unicode.IsLetter(c) && last >= utf8.RuneSelf && unicode.IsLetter(last) {
				score += mixed
			}
			last = c
			continue
		}
		price, ok := p[unicode.ToLower(c)]
		switch {
		case ok:
			score += price - 0.2
			if unicode.IsLetter(last) && last < utf8.RuneSelf {
				score += mixed
			}
			switch {
			case unicode.IsUpper(c) && unicode.IsLower(last):
				score += oddCase
			case unicode.IsUpper(c) && unicode.IsUpper(last):
				score -= 0.1
			case unicode.IsUpper(c):
				score -= 0.8
			}
		default:
			score += outside(c, last)
		}
		last = c
	}
	return score
}

// wideScore scores how well a text fits a language with thousands of two-byte characters.
func wideScore(text, lang string) float64 {
	score := 0.0
	var last rune = ' '
	for _, c := range text {
		if c < utf8.RuneSelf {
			last = c
			continue
		}
		switch {
		case c >= 0x3000 && c <= 0x3002 || c >= 0xFF01 && c <= 0xFF5E || strings.ContainsRune("「」『』・…、—“”·《》【】（）", c):
			score -= 4.5
		case lang == "ko" && unicode.Is(unicode.Hangul, c):
			if strings.ContainsRune(commonHangul, c) {
				score -= 4.2
			} else {
				score -= 7.2
			}
		case lang == "ja" && c >= 0xFF61 && c <= 0xFF9F: // half width, a byte each
			score -= 5.5
			if last < 0xFF61 && unicode.IsLetter(last) {
				score += mixed
			}
		case lang == "ja" && unicode.Is(unicode.Hiragana, c):
			score -= 3.6
		case lang == "ja" && unicode.Is(unicode.Katakana, c) || c == 'ー':
			if lang == "ja" {
				score -= 4.3
			} else {
				score += foreign
			}
		case unicode.Is(unicode.Han, c):
			score += han(c, lang)
			if last < utf8.RuneSelf && unicode.IsLetter(last) {
				score -= 2
			}
		case c == utf8.RuneError || unicode.IsControl(c) || unicode.Is(unicode.Co, c):
			score += 2 * impossible
		default:
			score += 1.5 * foreign
		}
		last = c
	}
	return score
}

// han prices a Chinese character.
func han(c rune, lang string) float64 {
	common := commonHan
	switch lang {
	case "zt":
		common = commonTraditional
	case "ja":
		common = commonKanji
	case "ko":
		return -11
	}
	if strings.ContainsRune(common, c) {
		return -5.2
	}
	if frequent(c, lang) {
		return -7.8
	}
	return -12.5
}

// frequent reports whether a character is in the first level of its country's standard, which was chosen by frequency.
func frequent(c rune, lang string) bool {
	switch lang {
	case "zh":
		b, err := find("GB18030").NewEncoder().Bytes([]byte(string(c)))
		return err == nil && len(b) == 2 && b[0] >= 0xB0 && b[0] <= 0xD7 && b[1] >= 0xA1
	case "zt":
		b, err := find("Big5").NewEncoder().Bytes([]byte(string(c)))
		return err == nil && len(b) == 2 && b[0] >= 0xA4 && b[0] <= 0xC6
	case "ja":
		b, err := find("EUC-JP").NewEncoder().Bytes([]byte(string(c)))
		return err == nil && len(b) == 2 && b[0] >= 0xB0 && b[0] <= 0xCF
	}
	return false
}

// The most frequent characters of most texts.
const (
	commonHangul      = "이다는을의에가고은로한하를지도사기자인어리대시해서일들그나수부정아보라전과있오만으제상주여것거스장니면게습입했었까성명이름울산광역구동번호전화주소김박최강조윤임신오황안송류홍문비용월년일국내외연합계금액원"
	commonHan         = "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等电话姓性别地址城市编号数量金额价格日期合计产品北京海李王张刘陈广东省市区县路"
	commonTraditional = "的一是不了人我在有他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部正名定女問力機給等電話姓性別地址城市編號數量金額價格日期合計產品台灣北林陳黃張李王吳劉新高雄縣區路"
	commonKanji       = "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野協取都和統以機平総加山思家話世受区領多県続進正安設保改数記院女初北午指権心界支第産結百派点教報済書府活原先共得解名交資予川向際査勝面委告軍文反元重近千考判認画海参売利組知案道信策集在件団別物側任引使求所次水半品昨論計死官増係感特情投示変打男基私各始島直両朝革価式確村提運終挙果西勢減台広容必応演電歳住争談能無再位置企真流格有疑口過局少放税検藤町常校料沢裁状工建語球営空職証土与急止送援供可役構木割聞身費付施切由説転食比難防補車優夫研収断井何南石足違消境神番規術護展態導鮮備宅害配副算視条幹独警宮究育席輸訪楽起万着乗店述残想線率病農州武声質念待試族象銀域助労例衛然早張映限親額監環験追審商葉義伝働形景落欧担好退準賞訴辺造英被株頭技低毎医復仕去姿味負閣韓渡失移差衆個門写評課末守若脳極種美岡影命含福蔵量望松非撃佐核観察整段横融型白深字答夜製票況音申様財港識注呼渉達"
)
