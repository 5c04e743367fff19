package knowledge_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fawn/agent/agenttest/must"
	"fawn/agent/knowledge"
	"fawn/sandbox/files"
	"fawn/store"
)

// term is something that documents call by its first word and people by its second, too.
type term struct{ word, other string }

// language is what a corpus is made of: products with made-up names, each with a document about each of its aspects.
type language struct {
	name      string
	products  []string
	aspects   []term
	statement string   // of product and aspect, with the number of a detail
	mention   string   // of another aspect of the product, in passing
	filler    []string // sentences that stand in every other document
	question  string
}

func english() language {
	l := language{name: "en", statement: "The %[1]s has a %[2]s as described here: the %[2]s of the %[1]s follows rule %[3]d, and changes of the %[2]s are announced.",
		mention:  "For the %[2]s of the %[1]s see its own sheet.",
		question: "What should I know about the %[2]s of the %[1]s?",
		aspects: []term{{"battery", "accumulator"}, {"price", "cost"}, {"warranty", "guarantee"}, {"noise", "loudness"}, {"cleaning", "washing"}, {"delivery", "shipping"},
			{"screen", "display"}, {"repair", "mending"}, {"weight", "heaviness"}, {"colour", "tint"}, {"speed", "velocity"}, {"storage", "warehousing"},
			{"packaging", "wrapping"}, {"safety", "security"}, {"assembly", "installation"}, {"training", "tuition"}, {"insurance", "coverage"}, {"payment", "remittance"},
			{"returns", "refunds"}, {"spares", "replacements"}, {"heating", "warming"}, {"lighting", "lamps"}, {"handle", "grip"}, {"lifetime", "durability"},
			{"testing", "inspection"}},
		filler: []string{"This sheet is for customers and staff alike.", "Numbers may differ between countries.", "Ask the desk when something is unclear.",
			"An older edition of this sheet is out of force.", "Drawings are kept in the archive."}}
	for _, a := range []string{"Var", "Tol", "Bre", "Sim"} {
		for _, b := range []string{"ando", "ekko", "illa", "onte", "ursa"} {
			l.products = append(l.products, a+b)
		}
	}
	return l
}

func chinese() language {
	l := language{name: "zh", statement: "%[1]s的%[2]s说明如下：%[1]s的%[2]s按照第%[3]d条规定执行，%[2]s如有变化会另行通知。",
		mention:  "%[1]s的%[2]s请参阅另一份说明。",
		question: "请问%[1]s的%[2]s是怎么规定的？",
		aspects: []term{{"电池", "蓄电器"}, {"价格", "费用"}, {"保修", "质保"}, {"噪音", "响声"}, {"清洁", "洗涤"}, {"送货", "物流"},
			{"屏幕", "显示器"}, {"维修", "修理"}, {"重量", "轻重"}, {"颜色", "色彩"}, {"速度", "快慢"}, {"仓储", "存放"},
			{"包装", "外箱"}, {"安全", "防护"}, {"组装", "安装"}, {"培训", "授课"}, {"保险", "投保"}, {"付款", "支付"},
			{"退货", "退换"}, {"零件", "备件"}, {"加热", "升温"}, {"照明", "灯光"}, {"把手", "握柄"}, {"寿命", "耐用"},
			{"检测", "检验"}},
		filler: []string{"本说明供客户和员工使用。", "各国的数据可能有所不同。", "如有疑问请咨询服务台。", "旧版说明已经作废。", "图纸保存在档案室。"}}
	for _, a := range []string{"青", "白", "赤", "墨"} {
		for _, b := range []string{"松", "鹭", "岭", "溪", "枫"} {
			l.products = append(l.products, a+b)
		}
	}
	return l
}

// documents are those of a corpus by name: one for each aspect of each product, which mentions another one.
func (l language) documents() map[string]string {
	all := map[string]string{}
	for p, product := range l.products {
		for a, aspect := range l.aspects {
			n := p*len(l.aspects) + a
			also := l.aspects[(a+3)%len(l.aspects)].word
			text := []string{"# " + product, fmt.Sprintf(l.statement, product, aspect.word, n)}
			for i := range 3 {
				text = append(text, l.filler[(n+i)%len(l.filler)])
			}
			all[name(p, a)] = strings.Join(append(text, fmt.Sprintf(l.mention, product, also)), "\n\n")
		}
	}
	return all
}

func name(product, aspect int) string { return fmt.Sprintf("%02d/%02d.md", product, aspect) }

// question asks about an aspect; good are the documents that answer it with how well they do.
type question struct {
	text string
	good map[string]float64
}

// questions are 100 in the words of the documents and 100 in other words.
func (l language) questions() (same, other []question) {
	for i := range 100 {
		p, a := (i*7)%len(l.products), (i*3)%len(l.aspects) // 100 pairs, no two the same
		good := map[string]float64{name(p, a): 2, name(p, (a+len(l.aspects)-3)%len(l.aspects)): 1}
		same = append(same, question{fmt.Sprintf(l.question, l.products[p], l.aspects[a].word), good})
		other = append(other, question{fmt.Sprintf(l.question, l.products[p], l.aspects[a].other), good})
	}
	return same, other
}

// knowing is a model for tests: it counts parts of words, and takes the two words of each term for the same one, as a
// real model would have learned to.
type knowing struct {
	terms []term
	dims  int
}

func (knowing) Model() string { return "hashing" }

func (k knowing) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	for _, text := range texts {
		for _, t := range k.terms {
			text = strings.ReplaceAll(text, t.other, t.word)
		}
		v := make([]float32, k.dims)
		for _, word := range store.Words(text) {
			h := fnv.New64a()
			h.Write([]byte(word))
			n := h.Sum64()
			v[n%uint64(k.dims)] += 1 - 2*float32(n>>63)
		}
		out = append(out, v)
	}
	return out, nil
}

// shelf is a collection in a database of its own.
type shelf struct {
	*knowledge.Service
	db *store.DB
	in store.Collection
}

// read makes a collection of the files of a folder, and waits until they are indexed, and embedded if e is there.
func read(t testing.TB, dir string, e knowledge.Embedder, change ...func(*knowledge.Config)) *shelf {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	data := t.TempDir()
	db := must.Get(store.Open(t.Context(), store.Config{Dir: data, Log: log}))(t)
	t.Cleanup(func() { must.Report(t, db.Close()) })
	conf := knowledge.Config{DB: db, Dirs: files.Dirs{Root: data}, Log: log, Folders: func() []string { return []string{dir} },
		Embedder: func() knowledge.Embedder { return e }}
	for _, f := range change {
		f(&conf)
	}
	s := knowledge.New(conf)
	c, err := s.Create(t.Context(), "ann", "Corpus", "")
	if err == nil {
		_, err = s.AddSource(t.Context(), "ann", true, store.Source{Collection: c.ID, Kind: store.FolderSource, Address: dir})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	for {
		list := must.Get(db.Sources(t.Context(), c.ID))(t)
		ready := !slices.ContainsFunc(list, func(s store.Source) bool { return s.State == store.SourcePending })
		if ready && e != nil {
			left := must.Get(db.Unembedded(t.Context(), c.ID, e.Model()))(t)
			ready = len(left) == 0
		}
		if ready {
			return &shelf{s, db, c}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func kept(t testing.TB, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// judge is nDCG@10 and recall@10 over questions.
func (s *shelf) judge(t testing.TB, list []question) (ndcg, recall float64) {
	t.Helper()
	for _, q := range list {
		hits := must.Get(s.Search(t.Context(), []store.Collection{s.in}, q.text, nil, 40))(t)
		var names []string
		for _, h := range hits {
			if !slices.Contains(names, h.Document.Name) && len(names) < 10 {
				names = append(names, h.Document.Name)
			}
		}
		gain, best, found := 0.0, 0.0, 0.0
		for i, n := range names {
			gain += q.good[n] / math.Log2(float64(i+2))
			if q.good[n] > 0 {
				found++
			}
		}
		grades := []float64{}
		for _, g := range q.good {
			grades = append(grades, g)
		}
		slices.Sort(grades)
		slices.Reverse(grades)
		for i, g := range grades {
			best += g / math.Log2(float64(i+2))
		}
		ndcg += gain / best / float64(len(list))
		recall += found / float64(len(q.good)) / float64(len(list))
	}
	return ndcg, recall
}

// TestSearchingByMeaningFindsOtherWords: 200 questions over 500 documents of our own in each language, half of them in other
// words than the documents have. The model of the test knows which words mean the same, so that the numbers say what fusing gives when
// a model does, and that it takes nothing from questions in the words of the documents; they don't say how good any real
// model is.
func TestSearchingByMeaningFindsOtherWords(t *testing.T) {
	t.Parallel()
	t.Log("                   by words              hybrid")
	t.Log("                   nDCG@10  recall@10    nDCG@10  recall@10")
	for _, l := range []language{english(), chinese()} {
		dir := kept(t, l.documents())
		words, both := read(t, dir, nil), read(t, dir, knowing{l.aspects, 512})
		same, other := l.questions()
		for _, c := range []struct {
			name string
			list []question
			gain float64 // of nDCG, at least
		}{{"same words", same, -0.02}, {"other words", other, 0.1}} {
			n1, r1 := words.judge(t, c.list)
			n2, r2 := both.judge(t, c.list)
			t.Logf("%s %-12s    %.3f    %.3f        %.3f    %.3f", l.name, c.name, n1, r1, n2, r2)
			if n2 < n1+c.gain || r2 < r1-0.02 {
				t.Errorf("%s, %s: hybrid has %.3f and %.3f, words alone %.3f and %.3f", l.name, c.name, n2, r2, n1, r1)
			}
			if c.gain < 0 && n1 < 0.9 {
				t.Errorf("%s: words alone have %.3f for the words of the documents", l.name, n1)
			}
		}
	}
}

// BenchmarkCollection reads 10,000 documents of a folder, and searches them.
func BenchmarkCollection(b *testing.B) {
	const n = 10_000
	l := english()
	all := map[string]string{}
	for i := range n {
		p, a := i%len(l.products), (i/len(l.products))%len(l.aspects)
		text := []string{"# " + l.products[p] + fmt.Sprint(" ", i)}
		for j := range 12 {
			text = append(text, fmt.Sprintf(l.statement, l.products[(p+j)%len(l.products)], l.aspects[(a+j)%len(l.aspects)].word, i*j), l.filler[(i+j)%len(l.filler)])
		}
		all[fmt.Sprintf("%03d/%05d.md", i/100, i)] = strings.Join(text, "\n\n")
	}
	size := 0
	for _, text := range all {
		size += len(text)
	}
	dir := kept(b, all)
	all = nil
	for _, c := range []struct {
		name string
		e    knowledge.Embedder
	}{{"words", nil}, {"hybrid", knowing{l.aspects, 768}}} {
		b.Run(c.name, func(b *testing.B) {
			most := watchHeap(b)
			began, spent := time.Now(), cpuTime()
			s := read(b, dir, c.e)
			took := time.Since(began)
			perDocument := (cpuTime() - spent) / n
			peak := most()
			query := func(i int) string {
				return fmt.Sprintf(l.question, l.products[i%len(l.products)], l.aspects[i%len(l.aspects)].word)
			}
			for i := range 3 { // vectors come into memory
				must.Get(s.Search(b.Context(), []store.Collection{s.in}, query(i), nil, 10))(b)
			}
			i := 0
			spent = cpuTime()
			for b.Loop() {
				hits, err := s.Search(b.Context(), []store.Collection{s.in}, query(i), nil, 10)
				if err != nil || len(hits) != 10 {
					b.Fatal(len(hits), err)
				}
				i++
			}
			if spent > 0 {
				b.ReportMetric(float64((cpuTime()-spent).Microseconds())/1e3/float64(i), "cpu-ms/query")
				b.ReportMetric(float64(perDocument.Microseconds())/1e3, "cpu-ms/document")
			}
			b.ReportMetric(n/took.Seconds(), "documents/s")
			b.ReportMetric(float64(size)/took.Seconds()/1e6, "MB/s")
			b.ReportMetric(float64(peak)/1e6, "peak-heap-MB")
		})
	}
}
