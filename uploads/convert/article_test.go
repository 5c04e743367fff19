package convert_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"fawn/agent/agenttest/must"
	"fawn/uploads/convert"
)

// tongue is what pages are written of: sentences of an article, and what stands around it.
type tongue struct {
	code           string
	story, around  []string
	head, subheads []string
}

func tongues() []tongue {
	lines := func(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
	return []tongue{
		{"en", lines(`The lighthouse was built in 1874 on the outermost rock of the bay, where two currents meet.
Its keeper climbed 212 steps every evening, and wrote the weather into a book with a red cover.
In the winter of 1903 a storm tore the door away, and the sea came up to the third floor.
For eleven days nobody could land, so the family lived on dried fish and the last of the flour.
A new lamp, driven by electricity from a cable, was installed after the war.
Today a computer switches the light on, but the old lens still turns without any noise.
Visitors come between May and September, when the boat from the harbour can moor at the stairs.
The museum on the ground floor shows tools, letters and the famous red books.
Engineers measured that the tower leans by four centimetres, which is less than a century ago.
The next restoration is planned for 2027 and will cost about two million.`), lines(`Home About us Contact
Subscribe to our newsletter
We use cookies to improve your experience
Share this on your favourite network
Related: ten gardens you must see
Advertisement: buy two shoes for one
All rights reserved, terms of service
Log in or create an account`), lines("A light on the outermost rock"), lines("Storms\nThe lamp\nVisiting")},
		{"de", lines(`Der alte Bahnhof steht seit 1869 am Rand der Stadt und hat vier Gleise.
Früher hielten hier die Züge nach Osten, beladen mit Holz, Zucker und Getreide.
Als die Strecke 1978 stillgelegt wurde, zog zuerst eine Schreinerei in die Halle ein.
Später mietete ein Verein die Räume und reparierte das Dach mit eigenen Händen.
Heute gibt es dort eine Bibliothek, eine Werkstatt für Fahrräder und einen kleinen Saal.
Im Sommer spielen am Wochenende Kapellen auf dem ehemaligen Bahnsteig zwei.
Die große Uhr über dem Eingang geht wieder, weil eine Lehrlingsklasse sie neu gebaut hat.
Der Stadtrat entscheidet im Herbst, ob das Gebäude unter Denkmalschutz kommt.
Die Kosten der Heizung sind das größte Problem, denn die Mauern sind dünn.
Wer mithelfen will, kommt am ersten Samstag des Monats um neun Uhr vorbei.`), lines(`Startseite Über uns Kontakt
Newsletter abonnieren
Wir verwenden Cookies
Teilen Sie diesen Beitrag
Das könnte Sie auch interessieren
Anzeige: Matratzen im Angebot
Alle Rechte vorbehalten, Impressum
Anmelden oder registrieren`), lines("Der Bahnhof lebt weiter"), lines("Geschichte\nHeute\nPläne")},
		{"fr", lines(`Le marché couvert a ouvert ses portes en 1892, entre la rivière et la place du théâtre.
Chaque matin, avant six heures, les producteurs installent leurs étals sous la verrière.
On y trouve des fromages de montagne, des pommes anciennes et du pain cuit au bois.
La charpente en fer vient d'une forge voisine, fermée depuis longtemps.
Pendant les travaux de 2015, les vendeurs ont déménagé sur le parking de la gare.
Depuis, la fréquentation a augmenté d'un tiers, surtout le samedi.
Une cuisine partagée permet aux habitants de préparer les légumes invendus.
La mairie étudie un toit solaire qui couvrirait la moitié des besoins.
Les plus anciens racontent encore la crue de 1930, quand l'eau montait jusqu'aux balances.
Un petit musée conserve les poids, les affiches et les photographies.`), lines(`Accueil Qui sommes-nous Contact
Abonnez-vous à notre lettre
Nous utilisons des cookies
Partager cet article
À lire aussi
Publicité : voyages à prix réduit
Tous droits réservés, mentions légales
Se connecter`), lines("Sous la verrière du marché"), lines("La charpente\nLe samedi\nDemain")},
		{"es", lines(`El observatorio se levanta a 2.300 metros, lejos de las luces de la costa.
Las primeras cúpulas llegaron por piezas a lomos de mulas en 1932.
Cada noche despejada, tres telescopios siguen asteroides que pasan cerca de la Tierra.
Los datos se publican al amanecer para que cualquiera pueda comprobarlos.
En invierno la carretera se cierra y el personal duerme dos semanas arriba.
Un grupo escolar descubrió allí una estrella variable durante una visita.
El viento del norte obliga a cerrar las cúpulas unas cuarenta noches al año.
La nueva cámara pesa ochenta kilos y se enfría con nitrógeno líquido.
Los vecinos apagan las farolas a medianoche gracias a un acuerdo de 1999.
Se puede reservar una visita por teléfono con un mes de antelación.`), lines(`Inicio Quiénes somos Contacto
Suscríbase al boletín
Usamos cookies propias
Comparta esta noticia
Le puede interesar
Publicidad: seguros de coche
Todos los derechos reservados
Iniciar sesión`), lines("Un cielo sin luces"), lines("Las cúpulas\nEl invierno\nVisitas")},
		{"ru", lines(`Старая мельница стоит на берегу реки уже больше двухсот лет.
Раньше сюда приезжали крестьяне из двенадцати деревень, чтобы смолоть зерно.
В 1911 году хозяин поставил турбину, и колесо остановилось навсегда.
После войны в здании хранили яблоки, а потом оно долго пустовало.
Десять лет назад его купили два инженера и восстановили деревянные шестерни.
Теперь мельница снова работает по воскресеньям, и хлеб пекут во дворе.
Дети могут попробовать молоть муку ручным жерновом.
Зимой река замерзает, и экскурсии переносят в соседний амбар.
Деньги от билетов идут на ремонт плотины.
Добраться сюда можно на автобусе или на велосипеде вдоль реки.`), lines(`Главная О нас Контакты
Подпишитесь на рассылку
Мы используем файлы куки
Поделиться статьёй
Читайте также
Реклама: окна со скидкой
Все права защищены
Войти в кабинет`), lines("Мельница снова мелет"), lines("История\nРемонт\nКак доехать")},
		{"ar", lines(`بُنيت المنارة القديمة سنة 1874 فوق الصخرة البعيدة عند مدخل الخليج.
كان الحارس يصعد 212 درجة كل مساء ويكتب حالة الطقس في دفتر أحمر.
في شتاء سنة 1903 اقتلعت العاصفة الباب ووصل البحر إلى الطابق الثالث.
لم يستطع أحد الوصول أحد عشر يوما فعاشت العائلة على السمك المجفف.
بعد الحرب رُكّب مصباح جديد يعمل بالكهرباء من كابل تحت الماء.
اليوم يشغّل الحاسوب الضوء لكن العدسة القديمة ما زالت تدور بلا صوت.
يأتي الزوار بين مايو وسبتمبر عندما يرسو القارب قرب الدرج.
يعرض المتحف في الطابق الأرضي أدوات ورسائل والدفاتر الحمراء.
وجد المهندسون أن البرج يميل أربعة سنتيمترات فقط.
يبدأ الترميم القادم سنة 2027 ويكلف نحو مليونين.`), lines(`الرئيسية من نحن اتصل بنا
اشترك في النشرة البريدية
نستخدم ملفات الارتباط
شارك هذه الصفحة
مواضيع ذات صلة
إعلان: عروض السفر
جميع الحقوق محفوظة
تسجيل الدخول`), lines("منارة على الصخرة البعيدة"), lines("العواصف\nالمصباح\nالزيارة")},
		{"zh", lines(`这座石桥建于明代，横跨城东的小河，已有五百多年的历史。
桥身由三百块青石砌成，石缝里填着糯米和石灰做的灰浆。
过去每逢集市，商人们牵着骡子从桥上经过，桥头有三家茶馆。
一九五四年的洪水冲走了栏杆，居民用木头临时修补。
后来工程师测量发现，桥拱至今只下沉了两厘米。
现在汽车不能上桥，只允许行人和自行车通过。
每年春天，学生们来这里写生，画柳树和倒影。
河边的小博物馆展出旧照片和修桥时用过的工具。
市政府计划在明年更换照明，让夜里的桥更安全。
游客可以在早上七点以后免费参观。`), lines(`首页 关于我们 联系方式
订阅我们的邮件
本站使用缓存文件
分享到社交网络
相关阅读推荐
广告：特价旅行
版权所有 未经许可不得转载
登录或注册`), lines("城东的石桥"), lines("历史\n测量\n参观")},
	}
}

// layouts are ways in which sites put an article into a page: b is the article, a gives what
// stands around it.
func layouts() map[string]func(title, b string, a func(int) string) string {
	page := func(title, head, body string) string {
		return "<!DOCTYPE html><html><head><meta charset=utf-8><title>" + title + " | Site</title>" + head +
			"</head><body>" + body + "</body></html>"
	}
	links := func(a func(int) string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<li><a href="/x%d">%s</a></li>`, i, a(i))
		}
		return b.String()
	}
	return map[string]func(string, string, func(int) string) string{
		"blog": func(t, b string, a func(int) string) string {
			return page(t, "", `<header><nav><ul>`+links(a, 5)+`</ul></nav></header><main><article><h1>`+t+`</h1>`+b+
				`</article></main><aside><h3>`+a(4)+`</h3><ul>`+links(a, 6)+`</ul></aside><footer><p>`+a(6)+
				`</p></footer>`)
		},
		"news": func(t, b string, a func(int) string) string {
			return page(t,
				`<meta property="og:title" content="`+t+
					`"><script type="application/ld+json">{"@type":"NewsArticle","headline":"x"}</script>`,
				`<div class="topbar">`+a(0)+`</div><div class="cookie-banner" role="dialog"><p>`+a(2)+
					`</p><button>OK</button></div><div class="layout"><div class="story-body"><h1>`+t+
					`</h1><div class="share">`+a(3)+`</div>`+b+`<div class="related"><h4>`+a(4)+`</h4><ul>`+links(a, 5)+
					`</ul></div></div><div class="rail"><div class="ad">`+a(5)+`</div></div></div><div id="footer">`+
					a(6)+`</div>`)
		},
		"docs": func(t, b string, a func(int) string) string {
			return page(t, "",
				`<div class="sidebar"><ul>`+links(a, 12)+`</ul></div><div class="content" role="main"><h1>`+t+`</h1>`+b+
					`<div class="prevnext"><a href="/p">`+a(0)+`</a> <a href="/n">`+a(1)+`</a></div></div>`)
		},
		"tables": func(t, b string, a func(int) string) string {
			return page(t, "", `<table width="100%"><tr><td colspan="2">`+a(0)+`</td></tr><tr><td width="150">`+
				strings.Repeat(`<a href="/a">`+a(1)+`</a><br>`, 6)+`</td><td><h1>`+t+`</h1>`+b+
				`</td></tr><tr><td colspan="2"><font size="1">`+a(6)+`</font></td></tr></table>`)
		},
		"divs": func(t, b string, a func(int) string) string {
			return page(t, "",
				`<div class="w1"><div class="w2">`+a(0)+`</div><div class="w3"><div><div class="c"><div class="hh">`+t+
					`</div>`+strings.NewReplacer("<p>", "<div>", "</p>", "</div>").Replace(b)+
					`</div></div></div><div class="w4">`+a(6)+`</div></div>`)
		},
		"comments": func(t, b string, a func(int) string) string {
			return page(t, "",
				`<nav><ul>`+links(a, 4)+`</ul></nav><article><h1>`+t+`</h1>`+b+
					`</article><section id="comments" class="comments">`+
					strings.Repeat(`<div class="comment"><b>`+a(7)+`</b><p>`+a(3)+`. `+a(1)+`!</p></div>`, 4)+
					`</section>`)
		},
		"wiki": func(t, b string, a func(int) string) string {
			return page(t, "",
				`<div id="mw-navigation"><ul>`+links(a, 10)+
					`</ul></div><div id="content" class="mw-body"><h1 id="firstHeading">`+t+
					`</h1><div id="bodyContent"><div id="toc" class="toc"><ul>`+links(a, 3)+`</ul></div>`+b+
					`<div id="catlinks">`+a(4)+`</div></div></div>`)
		},
		"hidden": func(t, b string, a func(int) string) string {
			return page(t, "",
				`<div class="modal" style="display:none">`+strings.Repeat("<p>"+a(1)+". "+a(2)+".</p>", 5)+
					`</div><main><h1>`+t+`</h1>`+b+`</main><noscript>`+a(7)+`</noscript><script>var text = "`+a(5)+
					`";</script>`)
		},
		"sections": func(t, b string, a func(int) string) string {
			half := len(b) / 2
			if i := strings.Index(b[half:], "</p>"); i >= 0 {
				half += i + 4
			}
			return page(t, "", `<header>`+a(0)+`</header><main><section class="post"><h1>`+t+`</h1>`+b[:half]+
				`<figure><img src="/a.jpg" alt=""><figcaption></figcaption></figure></section><div class="promo">`+a(5)+
				`</div><section class="post">`+b[half:]+`</section></main><footer>`+a(6)+`</footer>`)
		},
		"forum": func(t, b string, a func(int) string) string {
			post := `<div class="post"><div class="postprofile"><a href="/u">` + a(7) +
				`</a></div><div class="postbody"><p>`
			return page(t, "", `<ul class="linklist">`+links(a, 5)+`</ul><div id="page-body"><h2 class="topic-title">`+
				t+`</h2>`+strings.NewReplacer("<p>", post, "</p>", `</p></div></div>`).Replace(b)+
				`</div><div class="jumpbox"><ul>`+links(a, 8)+`</ul></div>`)
		},
		"product": func(t, b string, a func(int) string) string {
			return page(t, `<meta property="og:type" content="product">`, `<div class="breadcrumbs"><a href="/">`+a(0)+
				`</a></div><div class="product"><div class="gallery"><img src="/1.jpg" alt=""></div><div class="info"><h1>`+
				t+`</h1><form><button>`+a(5)+`</button></form></div><div class="tabs"><div class="tab">`+b+
				`</div></div></div><div class="upsell related"><ul>`+links(a, 6)+`</ul></div>`)
		},
		"recipe": func(t, b string, a func(int) string) string {
			return page(t, "",
				`<nav>`+a(0)+`</nav><div itemscope itemtype="https://schema.org/Recipe"><h1 itemprop="name">`+t+
					`</h1><ol class="steps">`+strings.NewReplacer("<p>", "<li><p>", "</p>", "</p></li>",
					"<h2>", "<li><b>", "</h2>", "</b></li>").Replace(b)+`</ol><div class="share">`+a(3)+
					`</div></div><aside>`+a(4)+`</aside>`)
		},
		"manual": func(t, b string, a func(int) string) string {
			return page(t, "", `<div id="header"><h1>`+t+`</h1></div><div id="content"><div class="sect1">`+
				strings.ReplaceAll(b, "<h2>", `</div><div class="sect1"><h2>`)+`</div></div><div id="footer">`+a(6)+
				`</div>`)
		},
		"inline": func(t, b string, a func(int) string) string {
			return page(t, "", `<div id="header">`+a(0)+`</div><div class="entry-content"><h1 class="entry-title">`+t+
				`</h1>`+strings.Replace(b, "</p>",
				`</p><div class="newsletter-signup"><p>`+a(1)+`</p><form><input><button>`+a(7)+`</button></form></div>`,
				2)+`</div><div class="social">`+a(3)+`</div>`)
		},
	}
}

// saved is a page and what of it is its text.
type saved struct{ name, html, text string }

// pages are all layouts in all languages.
func pages() []saved {
	var all []saved
	for layout, put := range layouts() {
		for i, l := range tongues() {
			r := rand.New(rand.NewPCG(uint64(i), uint64(len(layout))))
			var body, text strings.Builder
			text.WriteString(l.head[0] + "\n")
			for n, at := range r.Perm(len(l.story)) {
				if n%4 == 3 {
					sub := l.subheads[n/4%len(l.subheads)]
					body.WriteString("<h2>" + sub + "</h2>")
					text.WriteString(sub + "\n")
				}
				one, two := l.story[at], l.story[(at+3)%len(l.story)]
				body.WriteString("<p>" + one + " <a href=\"/l\">" + two + "</a></p>")
				text.WriteString(one + " " + two + "\n")
			}
			body.WriteString("<ul><li>" + l.story[0] + "</li><li>" + l.story[1] + "</li></ul>")
			text.WriteString(l.story[0] + "\n" + l.story[1] + "\n")
			around := func(n int) string { return l.around[n%len(l.around)] }
			all = append(all, saved{layout + "-" + l.code, put(l.head[0], body.String(), around), text.String()})
		}
	}
	return all
}

// wordsOf counts words; in scripts without spaces, signs.
func wordsOf(s string) map[string]int {
	count := map[string]int{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			for _, r := range w {
				count[string(r)]++
			}
			continue
		}
		count[w]++
	}
	return count
}

func wordF1(got, want string) float64 {
	g, w := wordsOf(got), wordsOf(want)
	both, ng, nw := 0, 0, 0
	for k, n := range g {
		ng += n
		both += min(n, w[k])
	}
	for _, n := range w {
		nw += n
	}
	if ng+nw == 0 {
		return 1
	}
	return 2 * float64(both) / float64(ng+nw)
}

// linkTargets are no words of the text.
func withoutTargets(s string) string {
	for {
		i := strings.Index(s, "](")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], ')')
		if j < 0 {
			return s
		}
		s = s[:i+1] + s[i+j+1:]
	}
}

// TestArticlesAreFound keeps the word F1 of 98 pages over a floor. With FAWN_PAGES=folder it writes them
// there, with their texts and ours, to be compared with other programs.
func TestArticlesAreFound(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("FAWN_PAGES")
	all := pages()
	if len(all) < 60 {
		t.Fatalf("%d pages", len(all))
	}
	sums, counts, total := map[string]float64{}, map[string]int{}, 0.0
	for _, p := range all {
		res, err := convert.Convert("page"+convert.PageExt, []byte("https://site.example/a/b\n"+p.html), nil)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		f1 := wordF1(withoutTargets(res.Markdown), p.text)
		layout, _, _ := strings.Cut(p.name, "-")
		sums[layout] += f1
		counts[layout]++
		total += f1
		if f1 < 0.8 {
			t.Errorf("%s: F1 %.3f\n%s", p.name, f1, res.Markdown)
		}
		if dir == "" {
			continue
		}
		for ext, text := range map[string]string{".html": p.html, ".txt": p.text, ".md": withoutTargets(res.Markdown)} {
			must.Do(t, os.WriteFile(filepath.Join(dir, p.name+ext), []byte(text), 0o644))
		}
	}
	for layout, s := range sums {
		t.Logf("%-9s %.3f", layout, s/float64(counts[layout]))
	}
	if mean := total / float64(len(all)); mean < 0.97 {
		t.Errorf("the mean of F1 is %.3f", mean)
	}
}
