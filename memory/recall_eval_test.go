package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"fawn/agent/agenttest/must"
	"fawn/memory"
)

// asked are facts, and questions that need them, as people put them.
var asked = [][2]string{
	{"Prefers metric units in all tables.", "Make me a table with the sizes of the planks, in the units I prefer"},
	{"Lives in Trondheim with two children.", "What can we do in Trondheim this weekend with the children?"},
	{"Works as a purchasing manager at a boat yard.", "Write an application for me: what do I do at the boat yard?"},
	{"The board meeting is on the first Monday of each month.", "When is the next board meeting?"},
	{"Writes Python and avoids Java.", "Which programming language should the script be in, Python or Java?"},
	{"Allergic to peanuts.", "Suggest a recipe with peanuts for dinner"},
	{"The fiscal year begins in April.", "Draw the revenue by quarter of our fiscal year"},
	{"Answers should be short, without introductions.", "Explain tides. You know how long answers should be"},
	{"The dog Bruno is a border collie.", "How much exercise does Bruno need?"},
	{"Learning Japanese for a trip in October.", "Plan an hour of Japanese for tonight"},
	{"The company uses PostgreSQL 16 on Debian.", "Which index types does our PostgreSQL have?"},
	{"Prices are given without VAT.", "Make an offer with prices for 20 ropes"},
	{"Drives an electric Volvo and charges at home.", "How long does charging my Volvo take?"},
	{"Wants reports as PDF with page numbers.", "Write the report for March"},
	{"The main supplier for teak is Lindqvist in Gothenburg.", "Draft a mail to our supplier for teak"},
	{"Vegetarian since 2015.", "Find a restaurant; remember I am vegetarian"},
	{"The production server is called osprey.", "Check the disk of the production server"},
	{"Trains for a half marathon in May.", "Adjust my plan for the half marathon"},
	{"The newsletter goes out on Thursdays.", "Prepare the newsletter, and when must it be ready?"},
	{"Plays the cello in an amateur orchestra.", "Recommend pieces for cello"},
	{"Reads mail at nine and at four only.", "Remind me of a good time to read mail"},
	{"The warehouse in Bergen closes at three.", "Can I still fetch it from the warehouse today?"},
	{"Uses tabs, not spaces, for indentation.", "Format this file with my usual indentation"},
	{"The wedding anniversary is on 12 June.", "Book a table for our anniversary"},
	{"Has a budget of 3,000 euros for the new sofa.", "Which sofa is within my budget?"},
	{"The nephew Emil turns ten in August.", "An idea for a present for Emil"},
	{"Prefers window seats on trains.", "Reserve a seat on the train to Oslo"},
	{"The thesis is about seabird migration.", "Find sources for my thesis"},
	{"Colour-blind: red and green look the same.", "Make a chart; mind the colours red and green"},
	{"The company brand colour is navy blue.", "Design a slide in our brand colour"},
	{"喜欢用公制单位。", "帮我做一个表格，用我喜欢的单位"},
	{"住在杭州西湖区。", "杭州周末有什么好玩的？"},
	{"在一家造船公司做采购经理。", "给造船公司的同事写一封采购邮件"},
	{"每周一上午开例会。", "这周的例会是什么时候？"},
	{"写代码主要用 Go 语言。", "这个脚本用 Go 语言怎么写？"},
	{"对花生过敏。", "推荐一道带花生的菜"},
	{"财年从四月开始。", "按财年画出季度收入"},
	{"回答要简短，不要客套。", "解释一下潮汐，回答简短"},
	{"家里的猫叫团团。", "团团最近不吃东西怎么办？"},
	{"正在学习日语，十月去京都旅行。", "今晚安排一小时日语练习"},
	{"公司数据库是 PostgreSQL。", "我们公司的数据库支持哪些索引？"},
	{"报价不含税。", "做一份二十条绳索的报价"},
	{"开一辆电动汽车，在家充电。", "我的汽车充电要多久？"},
	{"报告要做成 PDF，带页码。", "写三月份的报告"},
	{"木材供应商是林克公司。", "给木材供应商写封邮件"},
	{"吃素已经五年了。", "找一家适合吃素的餐厅"},
	{"生产服务器叫海鹰。", "检查一下生产服务器的磁盘"},
	{"五月参加半程马拉松。", "调整我的马拉松训练计划"},
	{"简报每周四发出。", "准备简报，什么时候要完成？"},
	{"在业余乐团拉大提琴。", "推荐几首大提琴曲子"},
	{"只在早上九点看邮件。", "什么时候适合看邮件？"},
	{"宁波的仓库下午三点关门。", "今天还能去仓库取货吗？"},
	{"缩进用制表符。", "按我的习惯处理缩进"},
	{"结婚纪念日是六月十二日。", "为结婚纪念日订个餐厅"},
	{"买沙发的预算是三千元。", "哪款沙发在预算之内？"},
	{"侄子小明八月满十岁。", "给小明买什么生日礼物？"},
	{"坐火车喜欢靠窗的座位。", "订一张去上海的火车票，座位要合适"},
	{"论文研究海鸟迁徙。", "帮我给论文找资料"},
	{"红绿色盲。", "画一张图，注意我是色盲"},
	{"公司的品牌颜色是深蓝色。", "用品牌颜色做一页幻灯片"},
}

// TestTheNeededFactIsAmongThoseTold, of 200 facts and for 60 questions in two languages, at
// least 95 times in 100.
func TestTheNeededFactIsAmongThoseTold(t *testing.T) {
	w := open(t)
	w.rules.MaxFacts = 200
	others := []string{"Project %d uses the code name Alder-%d.", "Contact %d answers on extension %d.",
		"第%d号文件放在%d号柜子。", "Invoice %d is in folder %d.", "客户%d的合同编号是%d。", "Room %d has %d chairs.",
		"Ticket %d was solved in week %d."}
	var facts []memory.Fact
	for i := range 200 - len(asked) {
		facts = append(facts,
			memory.Fact{ID: fmt.Sprint("o", i), Content: fmt.Sprintf(others[i%len(others)], 100+i, 700+i*3),
				Category: "knowledge", Confidence: 0.9})
	}
	for i, pair := range asked {
		facts = append(facts, memory.Fact{ID: fmt.Sprint("a", i), Content: pair[0], Category: "preference",
			Confidence: 0.8})
	}
	must.Get(w.Import(t.Context(), me, 0, memory.Document{Facts: facts}))(t)
	if len(asked) != 60 || len(w.facts(t)) != 200 {
		t.Fatalf("%d questions, %d facts", len(asked), len(w.facts(t)))
	}
	found := 0
	for _, pair := range asked {
		r := must.Get(w.Recall(t.Context(), memory.Question{Owner: me, Text: pair[1]}))(t)
		if strings.Contains(r.Text, pair[0]) {
			found++
		} else {
			t.Logf("%q does not find %q", pair[1], pair[0])
		}
		if len(r.IDs) > w.rules.InjectFacts || memory.Tokens(r.Text) > w.rules.InjectTokens {
			t.Errorf("%q: %d facts of %d tokens", pair[1], len(r.IDs), memory.Tokens(r.Text))
		}
	}
	if found*100 < 95*len(asked) {
		t.Errorf("%d of %d", found, len(asked))
	}
}

// BenchmarkRecall is what a turn waits for with 10,000 facts.
func BenchmarkRecall(b *testing.B) {
	w := open(b)
	w.rules.MaxFacts = 10_000
	var facts []memory.Fact
	for i := range 10_000 {
		facts = append(facts,
			memory.Fact{ID: fmt.Sprint("f", i), Content: fmt.Sprintf("%s Number %d.", asked[i%len(asked)][0], i),
				Category: "knowledge", Confidence: 0.9})
	}
	must.Get(w.Import(b.Context(), me, 0, memory.Document{Facts: facts}))(b)
	must.Get(w.Recall(b.Context(), memory.Question{Owner: me, Text: "warm"}))(b)
	b.ResetTimer()
	for i := range b.N {
		must.Get(w.Recall(b.Context(), memory.Question{Owner: me, Text: asked[i%len(asked)][1]}))(b)
	}
}

// TestRelativesOfAWordAreOne, and words that only look alike are not.
func TestRelativesOfAWordAreOne(t *testing.T) {
	for _, words := range []string{"allergy allergies allergic", "vegetarian vegetarians", "run runs running", "plan plans planned planning",
		"meeting meetings", "children children", "program programs programmer programming", "organic organically", "history histories historical",
		"economy economic economical", "train trains trained training", "invoice invoices", "city cities", "prefer prefers preferred",
		"diabetes diabetes", "medicine medicines", "python python", "budget budgets budgeting", "asthma asthma"} {
		all := strings.Fields(words)
		for _, w := range all[1:] {
			if memory.Stem(w) != memory.Stem(all[0]) {
				t.Errorf("%s is %s, %s is %s", all[0], memory.Stem(all[0]), w, memory.Stem(w))
			}
		}
	}
	for _, pair := range [][2]string{{"train", "trail"}, {"oslo", "osprey"}, {"bus", "business"}, {"general", "gender"},
		{"mail", "main"}, {"cat", "cattle"}, {"port", "sport"}, {"nut", "note"}} {
		if memory.Stem(pair[0]) == memory.Stem(pair[1]) {
			t.Errorf("%s and %s are both %s", pair[0], pair[1], memory.Stem(pair[0]))
		}
	}
}
